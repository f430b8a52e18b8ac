import os

import stripe
from mcp.server.mcpserver import MCPServer

stripe.api_key = os.environ["STRIPE_API_KEY"]
mcp = MCPServer("billing")


@mcp.tool()
def charge_customer(customer: str, amount: int, currency: str, order: str) -> str:
    """Charge a customer for an order. The amount is in cents."""
    charge = stripe.Charge.create(
        amount=amount, currency=currency, customer=customer, metadata={"order": order}
    )
    return f"charged: {charge.id}"


@mcp.tool()
def list_charges(customer: str) -> list[str]:
    """List the charges of a customer."""
    return [charge.id for charge in stripe.Charge.list(customer=customer).data]


if __name__ == "__main__":
    mcp.run()
