// What install.mjs gives to TypeScript.
interface LockedPackage {
  version?: string
  link?: boolean
  optional?: boolean
  devOptional?: boolean
}

interface PackageLock {
  packages: Record<string, LockedPackage>
}

/** Compares package-lock.json with npm's own record of what is in node_modules. */
export function installNeeded(wanted: PackageLock, installed: PackageLock | undefined): boolean
