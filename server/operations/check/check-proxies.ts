import type { Config } from '../../config/settings.ts'
import { fetchJson } from '../../lib/fetch-json.ts'
import { PROBE_HEADER, ProbeToken } from '../../lib/probe-token.ts'
import { SECOND_MS } from '../../lib/time.ts'
import type { Secrets } from '../../lib/tokens.ts'
import { findReason } from '../fleet/wait-for-database.ts'
import { type CheckResult, failed, ok, warning } from './check-result.ts'

const TIMEOUT_MS = 10 * SECOND_MS
const MAX_BYTES = 10_000

/** Whether the base URL leads to the running service, through as many proxies as are trusted. */
export async function checkProxies(
  { baseUrl, trustedProxies, proxyProtocol }: Config,
  secret: Secrets | undefined,
): Promise<CheckResult[]> {
  if (baseUrl === '' || secret === undefined) return []
  const name = 'proxies'
  const headers = { [PROBE_HEADER]: new ProbeToken(secret).create(Date.now()) }
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const url = `${baseUrl}/health`
  try {
    const found = (await fetchJson(url, { signal, maxBytes: MAX_BYTES, headers })) as {
      forwardedFor?: unknown
    }
    const { forwardedFor: count } = found
    if (typeof count !== 'number')
      return [
        failed(
          name,
          `${url} leads to another service, or to one with another secret: check DNS and the proxy`,
        ),
      ]
    // Behind a balancer for TCP, the addresses do not come from this header.
    if (proxyProtocol !== undefined) return [ok(name, `${baseUrl} is this service`)]
    if (count === trustedProxies)
      return [ok(name, `${baseUrl} is this service, behind ${describeCount(count)}`)]
    const consequence =
      count > trustedProxies
        ? 'all visitors have the address of the proxy, and share its limits'
        : 'visitors can forge their address'
    return [
      failed(
        name,
        `${baseUrl} is this service, behind ${describeCount(count)}, but SLIPWAY_TRUSTED_PROXIES is ${trustedProxies}: ${consequence}; set it to ${count}`,
      ),
    ]
  } catch (error) {
    return [
      warning(name, `${url} cannot be requested (${findReason(error)}): start the service and check again`),
    ]
  }
}

function describeCount(count: number): string {
  return count === 1 ? 'one proxy' : `${count} proxies`
}
