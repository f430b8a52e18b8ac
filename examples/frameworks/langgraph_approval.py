"""The refund agent on LangGraph: the tool calls `interrupt`, and `Command(resume=…)` continues the thread."""

import os

from langchain_core.messages import HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, interrupt

import payment
import waiting


def refund_charge(order: str, amount: int):
    """Refund the charge of an order.

    Args:
        order: The id of the order.
        amount: The amount in cents.
    """
    if not interrupt({"order": order, "amount": amount}):
        return "The refund was not approved."
    return payment.refund_charge(order, amount)


TOOLS = [refund_charge, payment.list_refunds, payment.charge_customer]
model = ChatOpenAI(model="gpt-5.2").bind_tools(TOOLS)


def call_model(state: MessagesState):
    system = SystemMessage("You are the support agent of a shop.")
    return {"messages": [model.invoke([system, *state["messages"]])]}


builder = StateGraph(MessagesState)
builder.add_node("model", call_model)
builder.add_node("tools", ToolNode(TOOLS))
builder.add_edge(START, "model")
builder.add_conditional_edges("model", tools_condition)
builder.add_edge("tools", "model")

with SqliteSaver.from_conn_string(str(waiting.STATE / "checkpoints.sqlite")) as checkpointer:
    graph = builder.compile(checkpointer=checkpointer)
    config = {"configurable": {"thread_id": "refund"}}
    task = {"messages": [HumanMessage(os.environ["HAPAX_TASK"])]}
    state = graph.invoke(Command(resume=waiting.ANSWERS) if waiting.ANSWERS else task, config)

if asked := state.get("__interrupt__"):
    waiting.wait_for([waiting.question(one.id, one.value) for one in asked])
else:
    print(state["messages"][-1].text)
