// The folders of prisma/migrations, in order. A test keeps this list true.
export const EXPECTED_MIGRATIONS: readonly string[] = [
  '20261116000000_foundation',
  '20261116010000_recovery',
  '20261116010100_index_leases',
  '20261116010200_index_reconciliation',
  '20261116010300_index_expiry',
  '20261116010400_index_tombstones',
  '20261116010500_index_accepted',
  '20261116010600_index_unsettled',
  '20261116010700_ledger_window',
  '20261116010800_index_ledger_time',
  '20261116010900_index_sandbox_time',
]
