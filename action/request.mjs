import { setTimeout as pause } from 'node:timers/promises'

/** A request is repeated after this, then after four times as long, until this number of attempts. */
const FIRST_PAUSE_MS = 250
const MAX_ATTEMPTS = 4

const TIMEOUT_MS = 30_000

/** Statuses after which a repetition may succeed. */
const TEMPORARY = new Set([408, 429, 500, 502, 503, 504])

/** Repeats work whose error `isTemporary`, with a pause that grows; rejects with the last error. */
export async function repeat(work, isTemporary) {
  for (let attempt = 1, wait = FIRST_PAUSE_MS; ; attempt++, wait *= 4) {
    try {
      return await work()
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !isTemporary(error)) throw error
    }
    await pause(wait)
  }
}

/**
 * The response to a request, which is repeated while the host cannot be reached or is overloaded. Rejects with the host
 * and the cause. Redirects are refused: they could lead to a server that the workflow does not name.
 */
export function request(url, options) {
  const { host } = new URL(url)
  return repeat(
    async () => {
      const signal = AbortSignal.timeout(TIMEOUT_MS)
      const response = await fetch(url, { redirect: 'error', signal, ...options }).catch((error) => {
        const cause = error.cause?.code ?? error.cause?.message ?? error.message
        throw Object.assign(new Error(`Cannot reach ${host}: ${cause}`), { isTemporary: true })
      })
      if (response.ok) return response
      throw Object.assign(new Error(`${host} returned ${response.status} for ${new URL(url).pathname}`), {
        isTemporary: TEMPORARY.has(response.status),
      })
    },
    (error) => error.isTemporary,
  )
}
