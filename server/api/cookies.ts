import type { FastifyReply, FastifyRequest } from 'fastify'
import { isLoopbackUrl } from '../../protocol/loopback.ts'

/** `browser` identifies a browser at sign-in; it grants nothing. */
export type CookieKind = 'session' | 'browser'

const NAMES: Record<CookieKind, string> = { session: 'slipway', browser: 'slipway-browser' }

/**
 * Browsers store `Secure` cookies over HTTPS and from loopback names. Elsewhere the cookies lack `Secure` and the
 * prefix `__Host-`, because sign-in would not work with them.
 */
export function hasSecureCookies(baseUrl: string): boolean {
  return new URL(baseUrl).protocol === 'https:' || isLoopbackUrl(baseUrl)
}

/** Scripts cannot read it and other sites cannot use it (contract, "Sign-in"). */
export function setCookie(
  reply: FastifyReply,
  baseUrl: string,
  { kind, value, seconds }: { kind: CookieKind; value: string; seconds: number },
): void {
  const secure = hasSecureCookies(baseUrl) ? ' Secure;' : ''
  const pair = `${cookieName(baseUrl, kind)}=${value}`
  reply.header('Set-Cookie', `${pair}; Path=/;${secure} HttpOnly; SameSite=Strict; Max-Age=${seconds}`)
}

/** The value, if it has the form of one. Only the host itself can set a `__Host-` cookie. */
export function readCookie(
  { headers }: FastifyRequest,
  baseUrl: string,
  kind: CookieKind,
): string | undefined {
  return findCookie(headers, cookieName(baseUrl, kind))
}

/** The library of OAuth sets these cookies. `resume` has a path, which excludes the prefix. */
export function authorizationCookies(baseUrl: string): { interaction: string; resume: string } {
  const prefix = new URL(baseUrl).protocol === 'https:' ? '__Host-' : ''
  return { interaction: `${prefix}slipway-authorization`, resume: 'slipway-authorization-resume' }
}

/** The authorization that this browser began last. */
export function readAuthorizationCookie({ headers }: FastifyRequest, baseUrl: string): string | undefined {
  return findCookie(headers, authorizationCookies(baseUrl).interaction)
}

function findCookie(headers: FastifyRequest['headers'], name: string): string | undefined {
  for (const pair of headers.cookie?.split(';') ?? []) {
    const at = pair.indexOf('=')
    const value = pair.slice(at + 1)
    if (pair.slice(0, at).trim() === name && /^[\w-]{1,100}$/.test(value)) return value
  }
  return undefined
}

function cookieName(baseUrl: string, kind: CookieKind): string {
  return hasSecureCookies(baseUrl) ? `__Host-${NAMES[kind]}` : NAMES[kind]
}
