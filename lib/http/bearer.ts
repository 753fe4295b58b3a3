// Authorization: Bearer, and nothing else.
export function bearerOf(request: Request): string | null {
  const match = /^Bearer ([\x21-\x7e]{1,512})$/i.exec(request.headers.get('authorization') ?? '')
  return match?.[1] ?? null
}
