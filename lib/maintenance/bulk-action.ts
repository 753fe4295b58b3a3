// What a bulk run can do to each of its keys.
export const BULK_ACTIONS = ['reconcile', 'expire', 'run-again', 'resume'] as const
export type BulkActionName = (typeof BULK_ACTIONS)[number]
