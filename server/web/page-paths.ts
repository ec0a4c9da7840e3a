/** Every path of the dashboard; `dashboard/app/routes.tsx` maps them to pages. */
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
