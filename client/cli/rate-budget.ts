import { formatNumber, pluralize } from '../../protocol/format.ts'
import type { HttpResponse, Transport } from '../sdk/transport.ts'
import type { Terminal } from './terminal/terminal.ts'
import { formatLocalTime } from './terminal/time.ts'

/** A warning is printed when less than this share of the hourly limit is left, or one request. */
const LOW_SHARE = 0.1

const API_PATH = '/api/v1/'

interface Budget {
  limit: number
  remaining: number
  /** Unix time in milliseconds. */
  reset: number
}

/**
 * The requests that the caller has left in this hour (spec 8.1), by the last response of the API. Those of a sign-in count the
 * network address, whose limit is not the one of the account.
 */
export class RateBudget {
  #last: Budget | undefined

  watch(send: Transport): Transport {
    return async (request) => {
      const response = await send(request)
      if (request.url.includes(API_PATH)) this.#last = readBudget(response)
      return response
    }
  }

  /** Nothing beyond the limit, which is an error. */
  print(terminal: Terminal, now: number): void {
    if (!this.#last) return
    const { limit, remaining, reset } = this.#last
    if (remaining > Math.max(1, limit * LOW_SHARE) || reset <= now) return
    const left = `${formatNumber(remaining)} of ${pluralize(limit, 'request')} left this hour`
    terminal.printNote(`${left}. The limit resets at ${formatLocalTime(new Date(reset).toISOString(), now)}.`)
  }
}

function readBudget({ status, header }: HttpResponse): Budget | undefined {
  const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) =>
    /^\d{1,12}$/.test(header(`x-ratelimit-${name}`) ?? '')
      ? Number(header(`x-ratelimit-${name}`))
      : undefined,
  )
  if (status === 429 || limit === undefined || remaining === undefined || reset === undefined)
    return undefined
  return { limit, remaining, reset: reset * 1000 }
}
