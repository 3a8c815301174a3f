"""Prompts and resources of servers, as one list each in which no two collide.

The protocol calls tools, prompts and resources the primitives of a server.
"""
