const KEY = 'holdfast-token';

/** The reader's token. The browser tab keeps it and forgets it when the tab closes. */
export class AccessToken {
  #token: string | null;

  constructor() {
    this.#token = read();
  }

  get value(): string | null {
    return this.#token;
  }

  set(token: string | null): void {
    this.#token = token;
    try {
      if (token === null) sessionStorage.removeItem(KEY);
      else sessionStorage.setItem(KEY, token);
    } catch {
      // The browser may forbid storage. The token then lasts until the page is reloaded.
    }
  }
}

function read(): string | null {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}
