import path from 'node:path'

/** @type {import('next').NextConfig} */
export default {
  poweredByHeader: false,
  turbopack: { root: path.resolve(import.meta.dirname, '..', '..', '..') },
  // The checkout's own: a start of the benchmark must not write another.
  typescript: { ignoreBuildErrors: true, tsconfigPath: '../../../tsconfig.json' },
  serverExternalPackages: ['pg', 'sql-template-tag'],
}
