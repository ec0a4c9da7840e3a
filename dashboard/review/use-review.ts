import { useEffect, useRef } from 'preact/hooks'
import type { SiteReview } from '../../client/sdk/slipway.ts'
import { isSlipwayError } from '../../client/sdk/slipway-error.ts'
import type { Review, ReviewThread } from '../../protocol/api/reviews.schema.ts'
import { type Resource, useResource } from '../api/resource.ts'

/** After a failure, in milliseconds. */
const RETRY_DELAY_MS = 5000

/** The link or the session has ended, or the reviewed version. */
const ENDED = [401, 403, 404, 410]

/** A review, and what others add to it while the page is visible. */
export function useReview(key: string, api: SiteReview): Resource<Review> {
  const review = useResource(`review/${key}`, () => api.get())
  const isKnown = review.value !== undefined
  const revision = useRef<string | undefined>(undefined)
  revision.current = review.value?.revision
  useEffect(() => {
    if (!isKnown) return
    const listening = new AbortController()
    const { signal } = listening
    const follow = async () => {
      while (!signal.aborted) {
        if (document.visibilityState === 'hidden') await nextEvent(document, 'visibilitychange', signal)
        try {
          const known = revision.current!
          if ((await api.wait(known, signal)).revision === known) continue
          const value = await api.get()
          if (signal.aborted) return
          review.set(value)
          revision.current = value.revision
        } catch (error) {
          if (isSlipwayError(error) && ENDED.includes(error.status)) return review.reload()
          if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, RETRY_DELAY_MS))
        }
      }
    }
    void follow()
    return () => listening.abort()
  }, [key, isKnown])
  return review
}

function nextEvent(target: EventTarget, name: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    target.addEventListener(name, () => resolve(), { once: true, signal })
    signal.addEventListener('abort', () => resolve())
  })
}

/** The review with a thread as it is now. */
export function withThread(review: Review, thread: ReviewThread): Review {
  const others = review.threads.filter(({ id }) => id !== thread.id)
  const threads = [...others, thread].sort((one, other) => (one.id < other.id ? 1 : -1))
  return { ...review, threads }
}
