/** Does the environment name a proxy for addresses like this one? Which of them pass it by is `NO_PROXY`'s to say. */
export function proxyIsNamed(url: URL): boolean {
  const names = url.protocol === 'https:' ? ['HTTPS_PROXY', 'HTTP_PROXY'] : ['HTTP_PROXY'];
  return names.some((name) => (process.env[name] ?? process.env[name.toLowerCase()] ?? '') !== '');
}
