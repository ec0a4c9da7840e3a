import type { RequestOptions } from 'node:http'
import type https from 'node:https'
import { isIP } from 'node:net'

/** The proxy for a URL, or undefined to connect directly. */
export type ProxyFor = (url: string) => URL | undefined

/**
 * Chooses proxies by `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`; their names in lower case take precedence. Addresses of
 * this machine are always reached directly. `NO_PROXY` lists hosts, which include their subdomains, with an optional port.
 */
export function proxyFromEnvironment(env: Record<string, string | undefined>): ProxyFor {
  const nameOf = (name: string) => [name.toLowerCase(), name].find((one) => env[one])
  const excluded = (env[nameOf('NO_PROXY') ?? ''] ?? '').toLowerCase().split(/[\s,]+/)
  const [secure, plain] = [nameOf('HTTPS_PROXY'), nameOf('HTTP_PROXY')]
  return (address) => {
    const url = new URL(address)
    const name = url.protocol === 'https:' ? secure : plain
    if (name === undefined || isThisMachine(url) || excluded.some((rule) => matchesHost(rule, url)))
      return undefined
    return parseProxy(name, env[name]!)
  }
}

/** The error of a request through a proxy. Without credentials. */
export function proxyError({ protocol, host }: URL, reason: string): Error {
  return Object.assign(new Error(`the proxy ${protocol}//${host} ${reason}`), { code: 'ERR_PROXY' })
}

/** Changes of a request for `http:` that goes through a proxy: its target is the whole URL (RFC 9112, 3.2.2). */
export function forwardThrough(proxy: URL, url: string): RequestOptions {
  const { href, host } = new URL(url)
  return { ...connectionTo(proxy), path: href, headers: { Host: host, ...authorization(proxy) } }
}

/** "requires authentication (407)" */
export function describeRefusal(status: number): string {
  return status === 407 ? 'requires authentication (407)' : `refused the connection (${status})`
}

function parseProxy(name: string, text: string): URL {
  const hasScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(text)
  try {
    const proxy = new URL(hasScheme ? text : `http://${text}`)
    if (/^https?:$/.test(proxy.protocol) && proxy.hostname !== '') return proxy
  } catch {
    // Reported below, without the part before '@', which may contain a password.
  }
  const value = text.slice(text.lastIndexOf('@') + 1)
  throw new Error(`${name} must be the http or https URL of a proxy, not ${value}`)
}

export function connectionTo({ protocol, hostname, port }: URL): RequestOptions {
  const host = withoutBrackets(hostname)
  // Node would verify the certificate of the proxy against the Host header.
  const servername = isIP(host) ? '' : host
  return { protocol, hostname: host, port: port || defaultPort(protocol), servername } as https.RequestOptions
}

export function authorization({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {}
  const credentials = `${decodeOrKeep(username)}:${decodeOrKeep(password)}`
  return { 'Proxy-Authorization': `Basic ${Buffer.from(credentials).toString('base64')}` }
}

/** A password may have a percent sign that encodes nothing. */
function decodeOrKeep(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function isThisMachine({ hostname }: URL): boolean {
  return /^(.*\.)?localhost$|^127(\.\d+){3}$|^\[::1\]$/i.test(hostname)
}

function matchesHost(rule: string, { protocol, hostname, port }: URL): boolean {
  if (rule === '' || rule === '*') return rule === '*'
  const [, host = '', rulePort] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(rule) ?? ['', rule]
  if (rulePort !== undefined && rulePort !== (port || defaultPort(protocol))) return false
  const name = withoutBrackets(host.replace(/^\*?\./, ''))
  const target = withoutBrackets(hostname)
  return target === name || (name !== '' && target.endsWith(`.${name}`))
}

function withoutBrackets(host: string): string {
  return host.startsWith('[') ? host.slice(1, -1) : host
}

function defaultPort(protocol: string): string {
  return protocol === 'https:' ? '443' : '80'
}
