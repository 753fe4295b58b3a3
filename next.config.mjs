/** @type {import('next').NextConfig} */
export default {
  poweredByHeader: false,
  reactStrictMode: true,
  // We have no pictures to make smaller, and nobody else may have theirs made by us.
  images: { unoptimized: true },
  // Public pages and the console have root layouts of their own, so an address where there is nothing belongs to neither.
  experimental: { globalNotFound: true },
  // Pages get theirs from proxy.ts and the API's answers from lib/http/respond.ts; these are the files beside them.
  headers: async () =>
    ['/_next/static/:path*', '/icon.svg', '/favicon.ico'].map((source) => ({
      source,
      headers: [{ key: 'x-content-type-options', value: 'nosniff' }],
    })),
  // Browsers ask for it whatever a page says, and now and then before it has said anything.
  rewrites: async () => [{ source: '/favicon.ico', destination: '/icon.svg' }],
  // A build checks the types of what it builds; `npm run check` checks those of the whole tree.
  typescript: { tsconfigPath: 'tsconfig.build.json' },
  // These read their own files, or (sql-template-tag) tell their own objects by class: each bundle's own copy of it
  // would take another bundle's statements for values.
  serverExternalPackages: ['pg', 'graphile-worker', 'pino', 'better-auth', 'sql-template-tag'],
}
