"""The refund agent on LangGraph: a graph of a model and its tools."""

import os

from langchain_core.messages import HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from payment import list_refunds, refund_charge

TOOLS = [refund_charge, list_refunds]
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
graph = builder.compile()

state = graph.invoke({"messages": [HumanMessage(os.environ["HAPAX_TASK"])]})
print(state["messages"][-1].text)
