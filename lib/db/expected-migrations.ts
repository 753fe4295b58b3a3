// The folders of prisma/migrations, in order. A test keeps this list true.
export const EXPECTED_MIGRATIONS: readonly string[] = ['20261116000000_foundation']
