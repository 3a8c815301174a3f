"""The model that writes the texts: a chat model behind an endpoint with the OpenAI protocol."""

from __future__ import annotations

from mcpg.enrich.prompt import ANSWER_SCHEMA, Prompt
from mcpg.net.http import Budget, Endpoint, EndpointError, Usage
from mcpg.text.json_values import JsonObject

BUDGET = Budget(connect=5.0, read=120.0, total=120.0, retries=2)
"""How long the answer to a prompt may take."""

_FORMATS: tuple[JsonObject | None, ...] = (
    {
        "type": "json_schema",
        "json_schema": {"name": "texts", "strict": True, "schema": ANSWER_SCHEMA},
    },
    {"type": "json_object"},
    None,
)
_NOT_UNDERSTOOD = (400, 415, 422)


class ChatWriter:
    """Sends prompts to a chat model.

    Attributes:
        model: The name of the model.
        display: The address of the endpoint, without anything secret.
    """

    def __init__(
        self, url: str, model: str, *, key: str | None = None, budget: Budget = BUDGET
    ) -> None:
        """Prepare requests to *model*; nothing is sent yet.

        Requests go to `/chat/completions` below *url*, such as `https://api.openai.com/v1`.

        Raises:
            UsageError: *url* or *key* cannot be used.
        """
        self._endpoint = Endpoint(url, key=key, budget=budget)
        self._formats = list(_FORMATS)
        self.model = model
        self.display = self._endpoint.display

    @property
    def usage(self) -> Usage:
        """The requests sent and the tokens they took."""
        return self._endpoint.usage

    def answer(self, prompt: Prompt) -> str:
        """Return the text that the model writes, which may be cut off.

        An endpoint that refuses structured output is sent the prompt without it.

        Raises:
            EndpointError: The model writes no text.
        """
        payload: JsonObject = {
            "model": self.model,
            "messages": [
                {"role": "system", "content": prompt.instructions},
                {"role": "user", "content": prompt.definitions},
            ],
        }
        while True:
            form = self._formats[0]
            try:
                found = self._endpoint.post(
                    "chat/completions", payload | ({"response_format": form} if form else {})
                )
            except EndpointError as fault:
                if fault.status not in _NOT_UNDERSTOOD or len(self._formats) == 1:
                    raise
                del self._formats[0]
            else:
                return self._read_text(found)

    def _read_text(self, found: JsonObject) -> str:
        match found:
            case {"choices": [{"message": {"refusal": str(refusal)}}, *_]} if refusal:
                message = f"the model declines: {self._endpoint.quote(refusal)}"
            case {"choices": [{"message": {"content": str(content)}}, *_]} if content:
                return content
            case {"error": _}:
                message = "the server answers with an error"
            case _:
                message = "the answer has no message of a model"
        raise EndpointError(message, kind="answer", place=self.display)

    def close(self) -> None:
        """Close the connections."""
        self._endpoint.close()
