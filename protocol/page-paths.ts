/** The paths of the dashboard. A parameter with a question mark may be absent. */
export const PAGE_PATHS = {
  home: '/',
  claim: '/claim',
  authorize: '/authorize/:id',
  signIn: '/sign-in',
  sites: '/sites',
  site: '/sites/:slug/:view?',
  trash: '/trash',
  domains: '/domains',
  account: '/account',
  device: '/device',
  review: '/review',
  admin: '/admin/:view?',
} as const

export type PageName = keyof typeof PAGE_PATHS
