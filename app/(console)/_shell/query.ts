// What a page's URL asks for, checked like any input. What can't be read is left out: an old link still shows something.
import type { z } from 'zod'

export type SearchParams = Promise<Record<string, string | string[] | undefined>>

/** Each member of the schema by itself; of what is there twice, the first. */
export async function queryOf<Shape extends Record<string, z.ZodType>>(
  shape: Shape,
  searchParams: SearchParams,
): Promise<{ [Name in keyof Shape]: z.infer<Shape[Name]> | undefined }> {
  const given = await searchParams
  return Object.fromEntries(
    Object.entries(shape).map(([name, schema]) => {
      const value = given[name]
      const text = Array.isArray(value) ? value[0] : value
      return [name, text ? schema.safeParse(text).data : undefined]
    }),
  ) as { [Name in keyof Shape]: z.infer<Shape[Name]> | undefined }
}

/** The same page with these parameters, and none that are empty. */
export function hrefOf(path: string, params: Record<string, string | undefined>): string {
  const query = new URLSearchParams(Object.entries(params).filter((entry): entry is [string, string] => !!entry[1]))
  return query.size > 0 ? `${path}?${query}` : path
}
