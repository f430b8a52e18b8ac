"""The refund agent on LangGraph, with checkpoints in SQLite. A thread that was interrupted continues. Each checkpoint is
written before the next step: by default it is written meanwhile, and how far that is depends on the machine."""

import os

from langchain_core.messages import HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite import SqliteSaver
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

with SqliteSaver.from_conn_string(os.path.join(os.environ["HAPAX_STATE_DIR"], "checkpoints.sqlite")) as checkpointer:
    graph = builder.compile(checkpointer=checkpointer)
    config = {"configurable": {"thread_id": os.environ["HAPAX_TRIAL"]}}
    # No input: continue with the node that was interrupted.
    is_interrupted = bool(graph.get_state(config).next)
    task = None if is_interrupted else {"messages": [HumanMessage(os.environ["HAPAX_TASK"])]}
    state = graph.invoke(task, config, durability="sync")
print(state["messages"][-1].text)
