import { setMaxListeners } from 'node:events'
import type { Deadlines } from '../lib/deadlines.ts'
import { ApiError } from '../lib/errors.ts'
import type { Incidents } from '../lib/incidents.ts'
import type { Metrics } from '../lib/metrics.ts'

interface CommitWatchOptions {
  /** A commit that takes longer waits for a standby or a disk that does not answer. */
  timeouts: Pick<Deadlines['database'], 'hang'>
  metrics?: Metrics | undefined
  incidents?: Incidents | undefined
}

/** The commits of this process that the database has not confirmed, also those whose callers no longer wait. */
export class CommitWatch {
  readonly #timeouts: CommitWatchOptions['timeouts']
  #unanswered = 0
  #hanging = 0
  #confirmed = createController()

  constructor({ timeouts, metrics, incidents }: CommitWatchOptions) {
    this.#timeouts = timeouts
    metrics?.addRead('slipway_store_commits_unanswered', () => this.#unanswered)
    incidents?.watch('commits-hang', () => (this.#hanging > 0 ? { commits: this.#unanswered } : undefined))
  }

  /** Aborted while the database does not confirm commits; afterwards there is another one. */
  get signal(): AbortSignal {
    return this.#confirmed.signal
  }

  /** A commit that was given up ends with `unanswered`. */
  async run<T>(
    connection: { unanswered?: Promise<unknown> | undefined },
    commit: () => Promise<T>,
  ): Promise<T> {
    let isHanging = false
    const timer = setTimeout(() => {
      isHanging = true
      this.#hanging++
      this.#confirmed.abort(unconfirmed())
    }, this.#timeouts.hang).unref()
    this.#unanswered++
    const end = () => {
      clearTimeout(timer)
      this.#unanswered--
      if (isHanging && --this.#hanging === 0) this.#confirmed = createController()
    }
    try {
      return await commit()
    } finally {
      if (connection.unanswered) void connection.unanswered.then(end)
      else end()
    }
  }
}

function unconfirmed(): ApiError {
  const sentence =
    'The database does not confirm changes at the moment. Nothing was changed, and published sites stay online. Try again shortly.'
  return new ApiError('UNAVAILABLE', sentence, { retryAfterSeconds: 5 })
}

/** Any number of writes may wait. */
function createController(): AbortController {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
}
