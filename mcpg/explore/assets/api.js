// Requests to mcpg: each with the token of this run, which the address brings in its fragment.

const KEY = "mcpg-explore-token";

if (location.hash.length > 1) {
  sessionStorage.setItem(KEY, location.hash.slice(1));
  // Out of the address bar and the history.
  history.replaceState(null, "", location.pathname);
}
const token = sessionStorage.getItem(KEY) ?? "";

/** Why a request has no answer: `gone` without a server, `stranger` without its token. */
export class Refusal extends Error {
  constructor({ message, place = null, remedy = null }, status) {
    super(message);
    Object.assign(this, { place, remedy, status });
    this.gone = status === 0;
    this.stranger = status === 401;
  }
}

/** Ask for the answer *name*; throws a `Refusal`, or what *signal* aborts with. */
export async function ask(name, body = {}, signal = undefined) {
  let response;
  try {
    response = await fetch(`/api/${name}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
      signal,
    });
  } catch (fault) {
    if (fault.name === "AbortError") throw fault;
    throw new Refusal({ message: "mcpg explore does not answer" }, 0);
  }
  const answer = await response.json();
  if (!response.ok) throw new Refusal(answer.error, response.status);
  return answer;
}

/** A kind of request of which only the answer to the last one counts. */
export class Latest {
  #controller = null;

  /** Ask, and return the answer, or `null` when it was overtaken by another request. */
  async ask(name, body) {
    this.#controller?.abort();
    const controller = (this.#controller = new AbortController());
    try {
      const answer = await ask(name, body, controller.signal);
      return controller === this.#controller ? answer : null;
    } catch (fault) {
      if (controller !== this.#controller) return null;
      throw fault;
    }
  }

  /** Let no answer count that is still to come. */
  drop() {
    this.#controller?.abort();
    this.#controller = null;
  }
}
