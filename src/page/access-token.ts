const KEY = 'holdfast-token';

/** The reader's token: kept for this tab alone, and gone with it. */
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
      // Storage can be forbidden; the token then lasts until the page is loaded anew.
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
