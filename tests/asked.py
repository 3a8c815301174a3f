"""Questions with the intents that a person gives them, about tools of eight made-up servers.

Of two blocks of an intent, the second is worded to mislead: its verbs belong to another intent.
"""

from __future__ import annotations

from mcpg.catalog.model import Tool

_SERVERS = {
    "tracker": {
        "create_issue": ("team_id title body?", "Open a ticket in a team"),
        "list_teams": ("page_cursor?", "List the teams of the workspace"),
        "assign_issue": ("issue_id assignee_id", "Give a ticket to a person"),
        "list_cycles": ("team_id", "List the cycles of a team"),
        "move_to_cycle": ("issue_id cycle_id", "Plan a ticket for a cycle"),
    },
    "errors": {
        "list-projects": ("org_slug", "List the projects of an organisation"),
        "get-latest-events": ("project_slug limit?", "Read the latest crashes of a project"),
        "resolve-crash": ("crash_id", "Mark a crash as solved"),
        "mute-alerts": ("project_slug until?", "Silence the alerts of a project"),
    },
    "warehouse": {
        "explain_query": ("sql_text analyze?", "Show the plan of a statement"),
        "run_query": ("sql_text row_limit?", "Run a statement that only reads"),
        "describe_relation": ("schema_name relation_name", "Columns and indexes of a table"),
        "list_relations": ("schema_name", "Tables and views of a schema"),
        "show_locks": ("database_name?", "Who blocks whom"),
    },
    "chat": {
        "sendMessage": ("channelId text", "Post to a channel"),
        "listChannels": ("guildId", "Channels of a guild"),
        "openThread": ("channelId messageId", "Begin a thread under a message"),
        "findMember": ("guildId nickname", "Look somebody up"),
        "pinMessage": ("channelId messageId", "Keep a message on top"),
    },
    "files": {
        "search_folders": ("query max_results?", "Find folders by name"),
        "copy_entry": ("from_path to_path", "Copy a file or folder"),
        "share_link": ("entry_path expires_at?", "Make a link that others can open"),
        "restore_revision": ("entry_path revision_id", "Bring an older version back"),
        "list_revisions": ("entry_path", "Older versions of a file"),
    },
    "meetings": {
        "schedule_meeting": ("topic start_time duration_minutes", "Plan a call"),
        "get_recording": ("meeting_id file_type?", "Fetch the video of a call"),
        "invite": ("meeting_id email", "Ask somebody to a call"),
        "end_meeting": ("meeting_id", "Hang up for all"),
    },
    "metrics": {
        "query-series": ("metric_name window", "Numbers over time"),
        "create-monitor": ("metric_name threshold", "Warn when a number is too high"),
        "compare-windows": ("metric_name first_window second_window", "This week against last"),
        "import-dashboard": ("dashboard_json folder?", "Load a board from JSON"),
    },
    "payments": {
        "CreateQuote": ("customerNumber lineItems", "Offer a price"),
        "AcceptQuote": ("quoteNumber", "Turn an offer into an order"),
        "CallTaxService": ("quoteNumber country", "Work out the tax"),
        "UsePromotion": ("quoteNumber promotionCode", "Take a discount off"),
        "GetReceipt": ("orderNumber", "The paper for a paid order"),
    },
}

_NAVIGATION = """
move_to_cycle
resolve-crash
where is list_relations
listChannels, on what server?
go to share_link
find_member
the restore_revision tool of files
open CreateQuote
which server has query-series
wo finde ich get_recording?
--
find search_folders
explain_query, where is that
where does import-dashboard live
UsePromotion
I need CallTaxService, which server was it
show me show_locks
compare-windows please
describe_relatoin
the thing called end_meeting, wherever they put it
"""

_RELATIONS = """
what comes before AcceptQuote
what should run after create_issue
prerequisites of restore_revision
which tool supplies the cycle_id for move_to_cycle
who takes a meeting_id
tools that need project_slug
how do I get from list_teams to assign_issue
what follows schedule_meeting
where do I get the revision_id that restore_revision wants
was kommt vor resolve-crash?
--
show me what has to happen before GetReceipt
find the steps between CreateQuote and GetReceipt
how do I get a guildId
explain which call goes ahead of pinMessage
get me the tool that yields the messageId for openThread
search_folders is done, what is the next step
which tools find the issue_id for assign_issue
describe_relation is what I call first; and afterwards?
what else has to be in place before end_meeting can go through
give me the tools that accept schema_name
"""

_DOCUMENTATION = """
what does mute-alerts do
explain openThread
what does list_revisions return
what is row_limit in run_query
how does compare-windows treat missing days
docs for AcceptQuote
is end_meeting reversible
does copy_entry overwrite files that are there already
can invite be used with several addresses
¿qué hace share_link?
--
does find_member search by real name as well or only by nickname
show me what analyze changes in explain_query
is it dangerous to call run_query on the live database
before I use restore_revision: does it delete the newer versions
expires_at in share_link: a date or a number of days?
find out whether import-dashboard replaces a board of the same name
does CallTaxService import rates from anywhere or only compute
when I open a ticket with create_issue, is body markdown
what happens to the members when openThread is called twice
"""

_EXAMPLES = """
example of schedule_meeting
sample call for create-monitor
show me an example of sendMessage
payload for CreateQuote
give me a working run_query call
snippet for copy_entry
ein Beispiel für pinMessage
list-projects example
how would a call of get-latest-events look
--
what does a proper lineItems look like for CreateQuote
I want to paste a schedule_meeting call, one for Monday at nine
which JSON goes into import-dashboard
write a query-series request for cpu load
show UsePromotion in action
how do I write sql_text for explain_query, one line please
find me an example of search_folders
describe_relation with schema public, spelled out
give me the arguments of invite, filled in for two people
what exactly goes in the body of assign_issue, I'd rather copy it
"""

_SIMILAR = """
similar to explain_query
alternatives to share_link
what is the difference between run_query and explain_query
tools like mute-alerts
openThread vs sendMessage
is list_relations the same as describe_relation
duplicates of copy_entry
ähnlich wie end_meeting
what can I use instead of invite
--
find something like get_recording
which other call does what pinMessage does
show me what overlaps with create-monitor
I use create_issue on tracker, does another server have the same
could query-series be used instead of compare-windows
search_folders is too slow for me, anything quicker
is there a gentler one than end_meeting
get me something close to CallTaxService
list-projects is going away, what replaces it
"""

_SEARCH = """
tell the team that the build is green
put the outage call on Thursday at ten
which tables are there
give Dora the login bug
who is blocking my statement
the tax for an offer to Austria
make the old version of the contract current again
quiet the pager until tomorrow
send 'lunch is here' to general
quien bloquea la tabla de pedidos
--
find the folder with the tax papers
what comes after the release, put it in the next cycle
get weather for Porto
show the crashes since Monday
explain to the customer why the price changed
open a ticket about the broken footer
import the contacts of our sales team
call the supplier and ask for a quote
an example invoice for the new client
compare last week's sales with this week's
use the spring promotion on offer 12
where is my receipt for order 4711
how do I invite Ben to the call
describe the bug to the developers
look up a member called Kim
"""

_BLOCKS = {
    "navigation": _NAVIGATION,
    "relations": _RELATIONS,
    "documentation": _DOCUMENTATION,
    "examples": _EXAMPLES,
    "similar": _SIMILAR,
    "search": _SEARCH,
}

QUESTIONS = tuple(
    (intent, question, number == 1)
    for intent, text in _BLOCKS.items()
    for number, block in enumerate(text.split("--\n"))
    for question in block.strip().splitlines()
)
"""Intent, question, and whether it is worded to mislead."""


def tools() -> list[Tool]:
    """Return the tools of the servers."""
    return [
        Tool(
            "",
            server,
            name,
            description=about,
            input_schema={
                "type": "object",
                "properties": {
                    field.rstrip("?"): {"type": "string", "description": f"The {field}"}
                    for field in fields.split()
                },
                "required": [field for field in fields.split() if not field.endswith("?")],
            },
        )
        for server, held in _SERVERS.items()
        for name, (fields, about) in held.items()
    ]
