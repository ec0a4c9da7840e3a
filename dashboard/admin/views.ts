/** The pages of the administration by the last segments of their paths, in their order; the overview has none. */
export const ADMIN_VIEWS = {
  '': 'Overview',
  reports: 'Reports',
  sites: 'Sites',
  accounts: 'Accounts',
  domains: 'Domains',
  blocks: 'Blocks',
  policies: 'Policies',
  certificates: 'Certificates',
  sweeps: 'Sweeps',
  nodes: 'Nodes',
  audit: 'Audit log',
} as const

export type AdminView = keyof typeof ADMIN_VIEWS

export function adminPath(view: string): string {
  return view === '' ? '/admin' : `/admin/${view}`
}
