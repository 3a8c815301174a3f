# ruff: noqa: E501 - a wording is one line
"""Questions to fit intents on: wordings of each intent, filled with tools of invented servers.

A wording holds `{t}`, a tool; `{u}`, another one; `{f}`, an argument of the tool; `{j}`, what the
tool does in plain words; `{s}`, its server; `{x}`, something to work on; `{y}` and `{z}` two symbols
of invented source code. None is taken from a question that intents are measured on.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from mcpg.catalog.model import Tool

SERVERS: dict[str, dict[str, tuple[str, str]]] = {
    "kubernetes": {
        "list_pods": ("namespace label_selector", "see which pods run in staging"),
        "get_pod_logs": (
            "pod_name namespace tail_lines",
            "read what the crashed container printed",
        ),
        "scale_deployment": ("deployment_name replicas", "run five copies of the web deployment"),
        "delete_namespace": ("namespace grace_period", "remove the old preview namespace"),
        "apply_manifest": ("manifest dry_run", "put this YAML on the cluster"),
        "rollout_restart": ("deployment_name namespace", "restart the checkout deployment"),
    },
    "jira": {
        "createTicket": ("projectKey summary issueType", "report a bug about the broken footer"),
        "transitionTicket": ("ticketId transitionId", "move the login story to done"),
        "searchTickets": ("jql maxResults", "find what is assigned to me this sprint"),
        "addWorklog": ("ticketId timeSpent", "log two hours on the migration"),
        "linkTickets": ("ticketId linkType", "say that one bug blocks another"),
        "getSprint": ("sprintId boardId", "when does the current sprint end"),
    },
    "stripe": {
        "create-customer": ("email name", "add a buyer called Ines"),
        "create-payment-link": ("price_id quantity", "make a link people can pay with"),
        "refund-charge": ("charge_id amount reason", "give a customer the money back"),
        "list-invoices": ("customer_id status", "which bills are still open"),
        "cancel-subscription": ("subscription_id at_period_end", "stop charging this account"),
        "create-price": ("product_id unit_amount currency", "sell the plan for nine euros"),
    },
    "spotify": {
        "search_tracks": ("query market", "find the song from that advert"),
        "create_playlist": ("name is_public", "start a list for the road trip"),
        "add_tracks_to_playlist": ("playlist_id track_uris", "put these songs on my list"),
        "pause_playback": ("device_id", "stop the music"),
        "get_recommendations": ("seed_artists target_energy", "suggest something like this band"),
        "follow_artist": ("artist_id", "keep me posted about this singer"),
    },
    "s3": {
        "ListBuckets": ("max_buckets", "which buckets do we have"),
        "PutObject": ("bucket_name object_key content", "upload the report"),
        "GetObject": ("bucket_name object_key version_id", "download last week's backup"),
        "DeleteObject": ("bucket_name object_key", "throw the old dump away"),
        "CreatePresignedUrl": ("object_key expires_in", "share a file for one day"),
        "CopyObject": ("source_key target_key", "duplicate a file in another folder"),
    },
    "calendar": {
        "find_free_slot": ("attendees duration_minutes", "when can all three of us meet"),
        "create_event": ("start_time end_time attendees", "book lunch with Omar on Friday"),
        "move_event": ("event_id start_time", "push the review to tomorrow"),
        "decline_invitation": ("event_id comment", "tell them I cannot come"),
        "export_calendar": ("calendar_id format", "give me my appointments as a file"),
        "subscribe": ("calendar_url", "follow the holiday calendar"),
    },
    "redis": {
        "hset": ("key field value", "remember a value under a name"),
        "expire_key": ("key ttl_seconds", "forget this entry in an hour"),
        "scan_keys": ("pattern cursor", "which keys start with session"),
        "flush_database": ("database_index", "empty the cache"),
        "publish_message": ("channel_name payload", "tell all listeners"),
    },
    "terraform": {
        "plan_changes": ("workspace_id var_file", "what would change in production"),
        "apply_changes": ("plan_id auto_approve", "roll the infrastructure out"),
        "import_resource": ("resource_address resource_id", "bring the old server under control"),
        "unlock_state": ("lock_id", "the state is stuck"),
        "show_outputs": ("workspace_id output_name", "which address did the balancer get"),
    },
    "figma": {
        "get_frame": ("file_key node_id", "fetch the design of the landing page"),
        "export_image": ("node_id scale image_format", "save the logo as a picture"),
        "post_comment": ("file_key message", "leave a remark on the mockup"),
        "list_components": ("team_id page_size", "which buttons does the design system have"),
        "find_unused_styles": ("file_key", "which colours does nobody use"),
    },
    "mail": {
        "send_message": ("recipient subject body_html", "write to the landlord"),
        "search_mailbox": ("search_query folder_id", "find the invoice from March"),
        "create_filter_rule": ("condition action", "put newsletters aside"),
        "open_thread": ("thread_id", "show the talk with the tax office"),
        "call_webhook": ("webhook_url payload", "ring the other system"),
        "snooze": ("message_id until_time", "remind me of this on Monday"),
    },
}

EXTRAS = (
    "five replicas",
    "the staging cluster",
    "two people",
    "an empty list",
    "a nested object",
    "last quarter",
    "the Berlin office",
    "tenant 42",
    "a file of 2 GB",
    "a retry",
    "unicode names",
    "weekends",
    "a closed account",
    "no network",
    "time zones",
    "an expired token",
)

NAVIGATION = """
{t}
{t}?
go to {t}
jump to {t}
open {t}
take us to {t}
bring up {t}
pull up {t} please
where is {t}
where is {t}?
where's {t} defined
where do I find {t}
where can I find the {t} tool?
where does {t} belong
where does {t} sit
which server has {t}
which server is {t} from
what server does {t} come with
which server was {t} on again
which module is {t} in
find {t}
find {t} for me
locate {t}
locate the tool {t}
show {t}
show me {t}
the {t} tool
the {t} tool of {s}
{t} in {s}
{t} on the {s} server
{t} from {s} please
get me to {t}
I want {t}
I want to see {t}
I am looking for {t}
looking for the one called {t}
just {t}, nothing else
only {t}, not all the others
{t}, where is it?
{t}, which server has that
the tool named {t}
the one that is called {t}
the function named {t}, wherever it is
is there a tool called {t}
is there something called {t} here?
do we have {t}?
do we have a tool named {t}
point me at {t}
view {t}
look up {t}
lookup {t}
definition of {t}
the definition of {t}
I need {t}
I need {t} and not the rest of {s}
give me {t}
who offers {t}
what is the id of {t}
¿dónde está {t}?
abre {t}
busca la herramienta {t}
wo ist {t}
wo finde ich {t}?
öffne {t}
zeig mir {t}
auf welchem Server liegt {t}
où est {t}
ouvre {t}
onde fica {t}
dove si trova {t}
{t}在哪里
打开{t}
"""

DOCUMENTATION = """
what does {t} do
what does {t} do?
what is {t}
what is {t} for
what is {t} good for?
explain {t}
explain {t} to me
explain how {t} works
describe {t}
describe what {t} does with {x}
docs for {t}
documentation of {t}
the docs of {t} please
{t} docs
{t} documentation
{t} reference
tell me about {t}
tell me more about {t}
how does {t} work
how does {t} work?
how does {t} treat {x}
how does {t} deal with {x}?
why does {t} fail on {x}
why would I need {t}
when should I use {t}
when is {t} the right one
what does {t} return
what does {t} return?
what does {t} give back
what comes back from {t}
what comes out of {t} when there is {x}
what happens when I run {t} twice
what happens to {x} when {t} runs
what arguments does {t} take
which arguments does {t} have
which parameters are required by {t}
what are the parameters of {t}
which options does {t} know
what is {f} in {t}
what is {x} in {t}
what are {x} in {t}
what does {f} mean in {t}
what does {f} of {t} do
what is the {f} argument of {t}
{f} in {t}: is it optional?
{f} of {t}, in which unit
{f} in {t}, what format
meaning of {f} in {t}
is {f} required in {t}
is {f} in {t} an id or a name
does {t} accept {x} as {f}
what is the default of {f} in {t}
how should {f} be written when I call {t} with {x}
can {f} be empty in {t}
is {t} safe to run
is {t} safe to call on {x}?
is it safe to give {t} to strangers
is it fine to let everybody run {t}
does {t} delete anything
does {t} change {x}
does {t} change {x} or only report it
does {t} overwrite {x}?
does {t} support {x}
does {t} work with {x}
does {t} keep {x} or drop it
does {t} wait until it is finished or return at once
does {t} ask again or simply take the last answer
can {t} handle {x}
can {t} be undone
can {t} run without {f}
can I run {t} on {x}
will {t} touch {x}
will {t} break if there is {x}
would {t} cope with {x}
should I worry about {x} when I use {t}
is it risky to run {t} on {x}
is it harmful to call {t} on the live system
is there a limit on {x} in {t}
before I call {t}: will it keep {x}
before we use {t}, does it back up {x}
when we start {x} with {t}, is {f} plain text
when I work on {x} with {t}, are {x} kept
show me what {f} changes in {t}
show me what {f} stands for in {t}
does {t} look only at {x} or at {x} too
does {t} load {x} from somewhere or just count
is {t} idempotent
is {t} read only
is {t} reversible
how long does {t} take
how many results does {t} return
how expensive is {t}
what limits does {t} have
what permissions does {t} need
which errors can {t} raise
{t}: does it need {x}?
{t}: sync or async
{t} paths: absolute, or seen from where?
{t} dates: local time or UTC, and in which form?
{f} in {t}, measured in what?
{f} in {t}: bytes or characters?
{f} for {t}: at most how many?
{t} {f}: which values
does {t} send each item again or only the new ones
does {t} copy all of it or just hand back a pointer
{t}: absolute or relative, and what about {x}?
{t} limits: per minute or per day?
I read the manual and still do not get what {t} does about {x}
we have {x} here, and {x} as well, before we call {t}: how does it read {f} and {x}
our customers send us {x}, with {x} in every line and {x} after it. when I hand that to {t}, how must {f} be written so that nothing gets lost
I have {x} from one office and {x} from another, all of it a bit different. what does {t} make of {f} in that case, and is there any limit
yesterday {t} ran for {x} and nobody knows whether {x} was changed. does it touch {x} at all when {f} is missing, or does it just report
find out if {t} copes with {x}
find out what {t} does about {x}
check whether {t} supports {x}
I wonder whether {t} keeps {x}
I'd like to know whether {t} sends {x} anywhere
show me what {f} does in {t}
show what {f} means for {t}
get me the meaning of {f} in {t}
give me the details of {t}
give me a summary of {t}
overview of {t}
purpose of {t}
info on {t}
help with {t}
help {t}
how is {f} spelled out in {t}, with {x}
¿qué hace {t}?
¿qué significa {f} en {t}?
explica {t}
¿para qué sirve {t}?
was macht {t}
was bedeutet {f} bei {t}
was gibt {t} zurück
erkläre {t}
wozu ist {t} gut
que fait {t}
que renvoie {t} ?
explique {t}
o que faz {t}
che cosa fa {t}
{t}是做什么的
{t}返回什么
解释一下{t}
"""

EXAMPLES = """
example of {t}
an example of {t}
examples for {t}
example for {t} please
{t} example
{t} examples
{t} sample
{t} usage example
a sample call of {t}
sample request for {t}
sample arguments for {t}
sample body for {t}
demo of {t}
snippet for {t}
a snippet that uses {t}
show me an example of {t}
show me how {t} is called
show me {t} in action
show {t} in action with {x}
give me an example of {t}
give me a {t} request to copy
give me a {t} call
give me a complete {t} call with {x}
a {t} call I can copy
a working {t} call please
a minimal {t} call
a typical call of {t}
a realistic payload for {t}
payload for {t}
what would a {t} call look like
what does a call to {t} look like
what does a valid request to {t} look like
what does a proper {f} look like for {t}
what does {f} look like in a real {t} call
how would a {t} request look
how do I call {t} with {x}
how would I call {t} for {x}
how do I write {f} for {t}, one line will do
how do I fill {f} in {t}, a concrete value please
how do I write the {t} call for {x}
which JSON do I send to {t}
which JSON goes to {t} when there is {x}, no prose please
what is the exact body for {t} with {x}? I prefer copying to reading the docs
what JSON do I post to {t} if there is {x}
what exactly do I pass to {t}, I want to copy it
what do I put in the body of {t}
write a {t} call
write a {t} call with {x}
write out {t} with {x}
write out {t} for {x} and {x}
write the {t} request for {x}
write out {t} for {x} with {x}, {x} and {x}
write {t} for {x} with {x} and {x}
spell {t} out for {x} with {x}, {x} and {x}
write me the arguments of {t} for {x}
spell out {t} for {x}
spell {t} out with {x} and {x}
fill in {t} for {x}
draft a {t} call for {x}
compose the {t} payload with {x}
build a {t} request with {x}
the JSON for {t}
JSON of a {t} call
arguments for {t} that work
template for {t}
I'd rather copy a {t} call than read about it
I need a {t} call that I can paste
I want to paste a {t} call, what does it look like
one line of {t} with {x}, ready to paste
{t} with {x}, spelled out
{t} with {x}, as JSON
{t} as a curl command
usage of {t}, one concrete call
illustrate {t}
how is {t} used, an example would help
ejemplo de {t}
un ejemplo de {t} con {x}
dame un ejemplo de {t}
Beispiel für {t}
ein Beispiel für {t} mit {x}
gib mir einen Aufruf von {t}
exemple de {t}
un exemple de {t} avec {x}
exemplo de {t}
esempio di {t}
{t}的例子
给我一个{t}的示例
"""

SIMILAR = """
similar to {t}
tools similar to {t}
what is similar to {t}
anything similar to {t}?
something like {t}
other tools like {t}
tools like {t}
alternatives to {t}
an alternative to {t}
is there an alternative to {t}
what else could I use instead of {t}
what can I use instead of {t}
what else does what {t} does
which other tool does the same as {t}
which other call does nearly the same as {t}
does another server have something like {t}
some other server has the same as {t}, right?
I use {t} on {s}; does another server have the same
near duplicates of {t}
find duplicates of {t}
find near duplicates of {t}
duplicates of {t}
what overlaps with {t}
show everything that overlaps {t}
show me what resembles {t}
what is easily confused with {t}
which tools are confused with {t}
{t} vs {u}
{t} versus {u}
{t} or {u}
{t} or {u}?
{t} vs. {u} vs {t}
{t} / {u}
difference between {t} and {u}
what is the difference between {t} and {u}
what's the difference between {t} and {u}?
how does {t} differ from {u}
how is {t} different from {u}
compare {t} and {u}
compare {t} with {u}
{t} compared to {u}
should I use {t} or {u}
which one for {x}, {t} or {u}
can {t} be used instead of {u}
could {u} be used instead of {t} when there is {x}
can I use {u} in place of {t}
is {t} the same as {u}
is {t} the same thing as {u}?
do {t} and {u} do the same
replacement for {t}
what replaces {t}
{t} is gone, what do I use in its place
{t} is deprecated, which one should I take
{t} is too slow, anything else?
{t} is too much for {x}, is there something smaller
anything cheaper than {t}
anything simpler than {t} if I only want {x}
anything smaller than {t} when all I need is {x}?
anything quicker than {t} if all I have is {x}?
something cheaper than {t}, if all we do is {x}
something lighter than {t} for {x}
a better one than {t} for {x}
a safer variant of {t}
is there a milder tool than {t}
is there a quieter one than {t}
isn't there a nicer one than {t}
find me something close to {t}
show me siblings of {t}
use something other than {t}
I would rather not use {t}, what else is there
{t} does {x}. which other tool almost does that
{t} is about {x}. which other call does nearly that?
{t} works on {x}. what other tool is close to it?
a {t} for {x}, from another server?
parecido a {t}
alternativa a {t}
diferencia entre {t} y {u}
ähnlich wie {t}
Alternative zu {t}
was ist der Unterschied zwischen {t} und {u}
semblable à {t}
différence entre {t} et {u}
diferença entre {t} e {u}
differenza tra {t} e {u}
和{t}类似的工具
{t}和{u}的区别
"""

RELATIONS = """
what comes before {t}
what comes after {t}
what runs before {t}
what runs after {t}
what should I run before {t}
what should I call after {t}
what do I do after {t}
what do I need to do before {t}
what do I call next after {t}
which tool follows {t}
which tools follow {t}?
which tool precedes {t}
what usually follows {t}
what has to happen first, before {t}
what has to happen before {t} works
what must exist before I call {t}
what else must be there before {t} can run
what else do I have to call before {t} goes through
what must run first for {t} to work
{t} does not work yet, what must come first
{t} fails, which step did I skip before it
{t} says something is missing, what should have run first
after {t} what is next
after {t}, what next?
before {t}, what first?
next step after {t}
next steps of {t}
the step ahead of {t}
the step before {t}
steps before {t}
prerequisites of {t}
prerequisites for {t}
{t} prerequisites
requirements of {t}: what do I call earlier
how do I get to the point where {t} works, which call goes first
how do I get ready for {t}, what comes first
we have {x} and want to use {t} on it, but it says that something is missing. which call has to run earlier so that it finds what it needs
once {t} is done, what follows
I just ran {t}, what now
I have called {t}. and then?
what depends on {t}
what does {t} depend on
what feeds {t}
what feeds into {t}
which tools feed {t}
what can use the output of {t}
what uses the output of {t}
what can work with what {t} returns
what consumes the result of {t}
where do the results of {t} go next
which tool takes what {t} gives
what provides the input of {t}
which tool supplies {f} for {t}
which tool gives me the {f} for {t}
which tools find the {f} that {t} wants
who provides {f} to {t}
where does {f} come from in {t}
where does the {f} for {t} come from
where do I get the {f} for {t}
where do I get {f} from, {t} wants it
how do I get a {f} for {t}
how do I obtain {f} for {t}
{t} wants a {f}, who has that
{t} asks for {f}; which tool has it
the docs of {t} ask for a {f}; which call hands it out
the manual of {t} wants {f}; which tool gives that
the description of {t} talks of a {f}; what provides it
{t} documents {f} as required; which tool do I get it from
what can take the {f} that {t} returns
what can I do with the {f} that {t} gave me
who can work with the {f} from {t}
which tools take {f}
which tools use {f}
which tools need {f}?
which tools accept {f}
what takes {f}
what takes a {f}
what needs {f}
who needs {f}
who uses {f}
who takes a {f}
everything that takes {f}
everything that needs a {f}
all tools with {f}
all tools that accept {f}
list tools that want {f}
tools that need a {f}
tools with a {f} argument
what returns {f}
what produces a {f}
which tools return {f}
which tools give me a {f}
who gives me a {f}
who returns {f}
where does {f} come from
where do I get a {f}
where can I get {f}
how do I get {f}
what consumes {f}
consumers of {f}
producers of {f}
how do I get from {t} to {u}
how do I get from {t} to {u}?
path from {t} to {u}
the path from {t} to {u}
show the way from {t} to {u}
show me the chain from {t} to {u}
find a route between {t} and {u}
steps between {t} and {u}
what lies between {t} and {u}
which calls lead from {t} to {u}
from {t} to {u}, what is in between
what connects {t} to {u}
is {t} called before {u}
does {t} come before {u}
what calls {t}
who calls {t}
callers of {t}
find callers of {t}
show callers of {t}
what does {t} call
which functions call {t}
what references {t}
who uses {t}
find usages of {t}
show what depends on {t}
what invokes {t}
who imports {t}
what inherits from {t}
subclasses of {t}
what implements {t}
how is {t} related to {u}
what is related to {t}
what goes with {t}
¿qué viene después de {t}?
¿qué hay que ejecutar antes de {t}?
¿qué herramientas usan {f}?
¿de dónde sale {f}?
was kommt nach {t}
was muss vor {t} laufen
was muss vor {t} passieren, damit ich {f} habe
welche Werkzeuge brauchen {f}
woher kommt {f}
qu'est-ce qui vient après {t}
que faut-il lancer avant {t}
quels outils prennent {f}
o que vem depois de {t}
cosa viene prima di {t}
{t}之后做什么
{t}之前需要运行什么
哪些工具需要{f}
{f}从哪里来
"""

SEARCH = """
use {t} to {j}
use the {t} tool to {j}
call {t} to {j}
{j} using {t}
{j} with {t}, please
please {j} using the {t} function, {x} and 12 of them
run {t} with {x} and 20, then tell me the result
using {t}, {j} and then {j}
I want to {j}, for example with {t}, and after that {j}
first {j} with {t}, then {j} using {u}, and send the result to 'ops@example.com'
could you {j} with {t} for 'Anna' and 'Ben', and use {u} to {j}
can you first use the '{t}' function to {j}, and then the '{u}' function to {j}
what is the {x} of {x}? use {t} with 3.5 and 7
set {f} to 5 and {j}
{j} where {f} is 12
{j}, my {f} is 'a-17'
I need to {j}, the {f} is 'XK-12' and the date is 2024-05-01
find {x} whose {f} equals 4
I am responsible for {x} and I want to {j}. Can you do that with the {t} API? Additionally, I would like to {j} for {x}.
I am working on {x}. Could you provide me with a list of everything about {x}, using {t}? I also need the details of {x} with the {f} 'a-12'. After that, {j}.
My team and I are planning {x}. Can you fetch {x} for us and show similar ones? Please use {f} 12 and give me an example of {x} as well, {j}.
I need {x} for my company. Please {j}, then check {x} for the {f} 'XK-7'. Can you also explain {x} to me and suggest something similar?
We lost {x} yesterday and now we want to {j}. Could you use {t} and then {u} to tell us what happened to {x}, and give me a summary of {x}?
I'm writing about {x} and need samples of {x}. Can you find them by the {f} 'q9'? Furthermore, compare {x} with {x} and {j}.
As the owner of {x} I need to {j}. Provide me with the {x} using the '{t}' function. Moreover, I want to know what is next for {x}, before Friday.
Help me prepare {x}: {j}, get the information by its {f} 'PX-55', describe {x}, and afterwards send {x} to all of us with {t}.
First, I want to {j}. Then, could you please retrieve {x} with the {f} '31'? Finally, show me how {x} changed after {x}, using {u}.
"""

SPOKEN_SEARCH = """
{j}
{j}, please
how do I {j}
how can I {j}
how do I undo a {w}
how do I repeat a {w} for {x}
I want to {w} for {x}
please {w} with {x} and {x}
{w} called 'Summer' for {x}
{w} for {x}
{w} about {x} tomorrow
can you {w} for {x}
could you {w} and tell Maria
help me {w} for {x}
find {x} and {w}
show me {x} after the {w}
get {x} before the {w} on Friday
the {w} failed on {x}, tell the team
we forgot to {w} before {x}, {j}
what is the status of my {w} for {x}
{j} and then {w}
I'd like to {w}, then {j}
explain to the client why we {w} for {x}
which {x} did we {w} for
who did the {w} for {x}
"""

SPOKEN_OTHERS = {
    "relations": (
        "what comes before {w}",
        "what comes after {w}",
        "what runs before {w}?",
        "which tool follows {w}",
        "prerequisites of {w}",
        "what feeds {w}",
    ),
    "documentation": (
        "what does the {w} tool do",
        "what does the {w} tool return",
        "explain the {w} tool",
        "documentation of the {w} tool",
    ),
    "examples": (
        "example of the {w} tool",
        "sample call of the {w} tool",
        "example arguments for the {w} tool",
    ),
    "similar": (
        "alternatives to the {w} tool",
        "tools similar to {w}",
        "which tool is like the {w} tool",
    ),
    "navigation": ("where is the {w} tool", "open the {w} tool", "which server has the {w} tool"),
}

SYMBOLS = (
    *("InvoiceParser", "parse_invoice", "TokenBucket", "TokenBucket.take", "renderPage", "Ledger"),
    *("flush_queue", "RetryPolicy", "useCart", "CartProvider", "ShipmentTracker.poll", "Codec"),
    *(
        "to_iso_date",
        "withTransaction",
        "IStockRepository",
        "StockRepository",
        "onMessage",
        "Router",
    ),
    *("load_fixtures", "GeoIndex", "GeoIndex.nearest", "http_client", "newServer", "Mailer"),
)
"""Names of the functions, classes and methods of invented source code."""

CODE = {
    "navigation": """
{y}
where is the {y} class
where is the {y} class?
where is the {y} method?
where is {y} defined
where is {y} declared
where is {y} implemented
where does {y} live
which file defines {y}
which file has {y}
which file is {y} in
in which file is {y}
in what module is {y}
find {y}
find the {y} class
find the {y} function
find the definition of {y}
find where {y} is defined
locate {y}
locate the {y} method
locate the definition of {y}
show {y}
show me {y}
show me the {y} class
show me the definition of {y}
show the source of {y}
show the code of {y}
open {y}
go to {y}
jump to the definition of {y}
definition of {y}
declaration of {y}
{y} definition
the {y} class
the file with {y}
line of {y}
dónde está definido {y}
wo ist {y} definiert
où est défini {y}
{y}在哪里定义
""",
    "relations": """
what calls {y}
what calls {y}?
what calls the {y} method
who calls {y}
which functions call {y}
where is {y} called
where is {y} called from
from where is {y} called
callers of {y}
find callers of {y}
find all callers of {y}
list the callers of {y}
show me the callers of {y}
what does {y} call
which functions does {y} call
which methods are called by {y}
callees of {y}
calls of {y}
calls to {y}
all calls to {y}
list calls to {y}
call chain of {y}
call chain from {y} to {z}
show the call chain from {y} to {z}
call graph of {y}
call hierarchy of {y}
how does {y} reach {z}
how do I get from {y} to {z}
path from {y} to {z}
does {y} call {z}
what references {y}
who references {y}
what refers to {y}
references to {y}
all references to {y}
find references to {y}
find all references of {y}
list references to {y}
show references to {y}
references of {y}
is {y} referenced
is {y} referenced anywhere
what uses {y}
who uses {y}
what uses {y}?
which code uses {y}
which classes use {y}
which files use {y}
where is {y} used
where is {y} used?
where do we use {y}
where else is {y} used
find uses of {y}
find all uses of {y}
find usages of {y}
list usages of {y}
all usages of {y}
uses of {y}
is {y} used
is {y} used anywhere
is {y} still used
is {y} used by {z}
is {y} ever called
does anything use {y}
does anything call {y}
does {y} use {z}
what does {y} use
what depends on {y}
which classes depend on {y}
what does {y} depend on
what does {y} need
dependencies of {y}
dependents of {y}
what breaks if I change {y}
what is affected by {y}
what inherits from {y}
what extends {y}
which classes extend {y}
what implements {y}
which classes implement {y}
implementations of {y}
find implementations of {y}
subclasses of {y}
list the subclasses of {y}
subtypes of {y}
children of {y}
descendants of {y}
superclass of {y}
parent of {y}
parent class of {y}
base class of {y}
ancestors of {y}
what does {y} inherit from
what does {y} extend
which interface does {y} implement
what overrides {y}
overrides of {y}
what imports {y}
who imports {y}
which files import {y}
what creates {y}
who creates a {y}
what is related to {y}
how are {y} and {z} related
wer ruft {y} auf
qui appelle {y}
quién llama a {y}
""",
    "documentation": """
what is {y}
what is {y}?
what is the {y} class
what is {y} for
what is {y} good for
what is the purpose of {y}
what does {y} do
what does {y} do?
what does the {y} method do
what does {y} return
what does {y} mean
explain {y}
explain the {y} class
explain what {y} does
explain how {y} works
explain how {y} is handled
explain how {y} are handled
explain how {y} are stored
explain to me how {y} works
describe {y}
describe the {y} class
describe how {y} works
describe what {y} does
how does {y} work
how does {y} work?
how does the {y} class work
how does {y} handle {x}
how is {y} implemented
how is {y} computed
how are {y} checked
how are {y} handled
why does {y} exist
tell me about {y}
docs of {y}
documentation of {y}
documentation for {y}
{y} docs
summary of {y}
overview of {y}
when should I use {y}
what arguments does {y} take
which parameters does {y} have
what happens in {y}
was macht {y}
qué hace {y}
que fait {y}
{y}是做什么的
""",
    "examples": """
example of {y}
examples of {y}
examples of using {y}
an example for {y}
example of how to use {y}
show me examples of {y}
show me examples of using {y}
show me an example of {y}
show an example that uses {y}
give me an example of {y}
give me examples for {y}
usage of {y}
{y} usage
usage example of {y}
usage examples for {y}
show me usage of {y}
show usage of {y}
show me the usage of {y}
how to use {y}
how to use {y}?
how to call {y}
how do I use {y}
how do I use {y}?
how do I use the {y} class
how do I call {y}
how can I use {y}
how would I use {y}
how should I use {y}
how is {y} used
how is {y} used?
how is {y} called
show how {y} is used
show me how {y} is used
show me how to use {y}
show me how to call {y}
show me {y} in use
sample of {y}
samples of {y}
sample for {y}
sample code for {y}
sample usage of {y}
a sample call of {y}
code sample with {y}
snippet with {y}
demo of {y}
tests that show how {y} is used
ejemplo de {y}
Beispiel für {y}
exemple de {y}
""",
    "similar": """
similar to {y}
similar code to {y}
find similar code to {y}
find code similar to {y}
find something similar to {y}
find functions like {y}
code like {y}
anything like {y}
anything like {y}?
is there anything like {y}
is there something like {y}
is there another function like {y}
what is similar to {y}
what is like {y}
which functions resemble {y}
which classes are like {y}
functions similar to {y}
classes like {y}
duplicates of {y}
find duplicates of {y}
alternatives to {y}
what could I use instead of {y}
{y} vs {z}
{y} or {z}
difference between {y} and {z}
compare {y} and {z}
""",
    "search": """
default {y}
supported {y}
{y} limit
{y} format
{y} handling
{y} code
code for {y}
code about {y}
code that handles {y}
find code for {y}
find code about {y}
find code that handles {y}
find code that limits {y}
find code that returns {y}
find code that calls {y}
find the code that supports {y}
the code which formats {y}
functions that handle {y}
turn {y} into {x}
{y} with {x}
find code that calls a server after {y} and writes the result to a file
find code that handles {x} in {y} and retries on errors
code for {x} near {y} with timeouts and logging
{j} like in {y}, then {j}
I want to {j} with {y}, for example for {x}
""",
}
"""Wordings about source code."""

WORDINGS = {
    "navigation": NAVIGATION,
    "relations": RELATIONS,
    "documentation": DOCUMENTATION,
    "examples": EXAMPLES,
    "similar": SIMILAR,
    "search": SEARCH,
}
_OF_TOOLS = re.compile(r"\{[fsjw]\}|\btools?\b|\bserver\b")
_LEADS = ("", "", "", "", "please ", "hey, ", "quick question: ", "hi! ", "ok so ")
_ENDS = ("", "", "", "", "", " please", " thanks", "?", " pls")


def tools() -> list[Tool]:
    """Return the tools of the invented servers."""
    return [
        Tool(
            f"{server}_{name}",
            server,
            name,
            description=job,
            input_schema={
                "type": "object",
                "properties": {field: {"type": "string"} for field in fields.split()},
            },
        )
        for server, held in SERVERS.items()
        for name, (fields, job) in held.items()
    ]


def questions(seed: int = 7, each: int = 6) -> Iterator[tuple[str, str]]:
    """Yield intents and questions: each wording filled *each* times, the same for equal seeds."""
    chance = random.Random(seed)
    for intent, wording, times in _wordings():
        for _ in range(times * each):
            yield intent, _dressed(_filled(wording, chance), chance)


def _wordings() -> Iterator[tuple[str, str, int]]:
    """Yield intents and wordings, and how much more often than others each is to be filled."""
    for intent, text in (*WORDINGS.items(), *CODE.items()):
        yield from ((intent, wording, 1) for wording in text.strip().splitlines())
    for intent, text in WORDINGS.items():
        # Those of tools that hold for code as well.
        lines = text.strip().splitlines()
        of_code = (one.replace("{t}", "{y}").replace("{u}", "{z}") for one in lines)
        yield from ((intent, one, 1) for one in of_code if not _OF_TOOLS.search(one))
    yield from (("search", wording, 4) for wording in SPOKEN_SEARCH.strip().splitlines())
    for intent, spoken in SPOKEN_OTHERS.items():
        yield from ((intent, wording, 2) for wording in spoken)


def _filled(wording: str, chance: random.Random) -> str:
    server = chance.choice(sorted(SERVERS))
    name, other = chance.sample(sorted(SERVERS[server]), 2)
    fields = SERVERS[server][name][0]
    long = [field for field in fields.split() if "_" in field or field != field.lower()]
    text = wording
    while "{x}" in text:
        text = text.replace("{x}", chance.choice(EXTRAS), 1)
    while "{j}" in text:
        text = text.replace("{j}", SERVERS[server][chance.choice([name, other])][1], 1)
    if "{t}" not in wording and "{f}" in wording and not long:
        return _filled(wording, chance)
    field = chance.choice(long or fields.split())
    spoken = "".join(f" {sign.lower()}" if sign.isupper() else sign for sign in name)
    names = {"{t}": _spelt(name, chance), "{u}": _spelt(other, chance), "{f}": field, "{s}": server}
    names |= zip(("{y}", "{z}"), chance.sample(SYMBOLS, 2), strict=True)
    names["{w}"] = spoken.replace("_", " ").replace("-", " ").strip()
    for mark, value in names.items():
        text = text.replace(mark, value)
    return text


def _spelt(name: str, chance: random.Random) -> str:
    """Return *name* as people write it: in rare cases misspelt."""
    if chance.random() < 0.08 and len(name) > 8 and "_" in name:
        place = chance.randrange(1, len(name) - 1)
        return name[:place] + name[place + 1 :]
    return name


def _dressed(question: str, chance: random.Random) -> str:
    question = chance.choice(_LEADS) + question
    if not question.endswith("?"):
        question += chance.choice(_ENDS)
    return question.capitalize() if chance.random() < 0.05 else question
