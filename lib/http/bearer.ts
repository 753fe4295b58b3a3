// Authorization: Bearer, and nothing else.
export const bearerOf = (request: Request): string | null => bearerFrom(request.headers.get('authorization'))

export function bearerFrom(authorization: string | null): string | null {
  const match = /^Bearer ([\x21-\x7e]{1,512})$/i.exec(authorization ?? '')
  return match?.[1] ?? null
}
