// Next answers 500 to an address whose escapes are no UTF-8. Such a path is taken literally instead: it then names
// something that is not there, and the app says so in its own words.
export function decodable(url: string): string {
  const [path = '', ...query] = url.split('?')
  try {
    decodeURIComponent(path)
    return url
  } catch {
    return [path.replaceAll('%', '%25'), ...query].join('?')
  }
}
