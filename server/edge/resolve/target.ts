import type { RequestTarget } from '../../net/http-handler.ts'

/** The parts of a request that the rules of a site match. */
export interface RuleInput {
  host: string
  target: RequestTarget
}

/** A path of this host, with its query. Anything that a browser could read as another host becomes `/`. */
export function safeRedirectTarget(next: string | null | undefined): string {
  return next && /^\/(?!\/)[!-[\]-~]*$/.test(next) ? next : '/'
}
