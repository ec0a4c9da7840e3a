/** Every address of the dashboard; what stands there is decided by `dashboard/app/routes.tsx`. */
export const PAGE_PATHS = [
  '/',
  '/claim',
  '/sign-in',
  '/sites',
  '/sites/:slug',
  '/sites/:slug/:view',
  '/domains',
  '/account',
] as const
