/** One line of `_redirects`, checked: serving it can no longer fail. */
export interface RedirectRule {
  line: number
  /** A path that begins with a slash; a `*` at its end matches the rest, `:name` one segment. Percent-encoded. */
  from: string
  /** The host that a rule with a full address is for, in lower case, without port. */
  host?: string
  /** Required query parameters; a value `:name` captures the requested one. */
  query?: [name: string, value: string][]
  /** A path of the site, or a full address with a scheme; `:splat` and `:name` stand for what was matched. */
  to: string
  status: 200 | 301 | 302 | 303 | 307 | 308 | 404
  force: boolean
}

export function hasVariables({ from }: RedirectRule): boolean {
  return /\*|\/:/.test(from)
}
