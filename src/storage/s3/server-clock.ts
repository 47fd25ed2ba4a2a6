/** What the `Date` of the last answer said, of a refusal as well. */
export class ServerClock {
  offsetMs: number | null = null;

  note(headers: Readonly<Record<string, string>>): void {
    const theirs = Date.parse(headers['date'] ?? '');
    if (!Number.isNaN(theirs)) this.offsetMs = theirs - Date.now();
  }
}
