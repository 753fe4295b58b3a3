// The last line of defence before a line of the log is written: whatever in it looks like a secret, or is one of ours,
// is masked, whoever put it there.

const MASK = '[masked]'

/** How secrets look. What comes before one is kept, so that a reader can tell what it was. */
const SHAPES: readonly RegExp[] = [
  // Our own API keys and tokens, Stripe's keys, and what webhooks are signed with.
  /\b(oo_[a-z]+_)\w+/g,
  /\b([sr]k_)\w+/g,
  /\b(whsec_)[\w+/=-]+/g,
  // Passwords in database URLs.
  /(\bpostgres(?:ql)?:\/\/[^\s"\\/@:]*:)[^\s"\\/@]+(?=@)/gi,
  /([?&]password=)[^\s"\\&]+/gi,
  // Credentials in headers, however the headers were written down. A backslash comes before a quote within a quote.
  /(\b(?:bearer|basic) +)[^\s"'\\,;]+/gi,
  /(\b(?:set-)?cookie\\?["']? *[:=,] *\\?["']?)(?:[^"'\\\r\n[\]]|\\[^"rn])+/gi,
  /(\bsession_token=)[^\s"'\\;,]+/gi,
]

/** @param known secrets whose shape says nothing, as they stand in the environment */
export function openMask(known: readonly (string | undefined)[]): (line: string) => string {
  const literals = known.filter((secret) => secret !== undefined).map((secret) => JSON.stringify(secret).slice(1, -1))
  return (line) => {
    let masked = line
    for (const literal of literals) masked = masked.replaceAll(literal, MASK)
    for (const shape of SHAPES) masked = masked.replace(shape, `$1${MASK}`)
    return masked
  }
}
