/** Whether the service reads this file of a site as rules, and never serves it. */
export function isRuleFile(path: string): boolean {
  return path === '_headers' || path === '_redirects'
}
