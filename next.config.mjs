/** @type {import('next').NextConfig} */
export default {
  poweredByHeader: false,
  reactStrictMode: true,
  // `npm run check` checks types, tests included; a start must not repeat it.
  typescript: { ignoreBuildErrors: true },
  // These read their own files, or (sql-template-tag) tell their own objects by class: each bundle's own copy of it
  // would take another bundle's statements for values.
  serverExternalPackages: ['pg', 'graphile-worker', 'pino', 'better-auth', 'sql-template-tag'],
}
