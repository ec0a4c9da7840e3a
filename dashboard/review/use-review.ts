import { useEffect, useRef } from 'preact/hooks'
import { mayPass } from '../../client/sdk/retry.ts'
import type { SiteReview } from '../../client/sdk/slipway.ts'
import type { Review, ReviewThread } from '../../protocol/api/reviews.schema.ts'
import { type Resource, useResource } from '../api/resource.ts'

/** Minimum pause after a failure. */
const RETRY_DELAY_MS = 5000

/** Errors after which only another link, session or version continues the review. */
const ENDS = /^(?:NOT_FOUND|UNAUTHORIZED|SITE_\w+)$/

/** Errors that tell nothing about who may see the review. */
const TEMPORARY = /^(?:NETWORK|RATE_LIMITED|UNAVAILABLE|INTERNAL)$/

export interface FollowedReview extends Resource<Review> {
  /** Of a known review. */
  api: SiteReview
  isOver: boolean
  /** Adds a thread, or replaces it. */
  put(thread: ReviewThread): void
}

/** A review, and what others add to it while the page is visible, from its first response and after each retry. */
export function useReview(
  key: string,
  load: () => Promise<Review>,
  apiOf: (review: Review) => SiteReview,
): FollowedReview {
  const review = useResource(`review/${key}`, load)
  const { error, loading } = review
  // A reviewer signs in or out in another tab, after which the review may be for others only.
  const last = useRef(review.value)
  if (review.value || (error && !TEMPORARY.test(error.code))) last.current = review.value
  const { current: value } = last
  const api = value && apiOf(value)
  const isFollowed = value !== undefined && !error && !loading
  // Of what is shown: a response that was requested earlier may replace a later one.
  const revision = useRef<string | undefined>(undefined)
  revision.current = value?.revision
  const overAt = useRef(0)
  useEffect(() => {
    if (!isFollowed) return
    const listening = new AbortController()
    const { signal } = listening
    const follow = async () => {
      while (!signal.aborted) {
        if (document.visibilityState === 'hidden') await nextEvent(document, 'visibilitychange', signal)
        try {
          const known = revision.current!
          if ((await api!.wait(known, signal)).revision === known) continue
          const current = await api!.get()
          if (signal.aborted) return
          review.set(current)
          revision.current = current.revision
        } catch (error) {
          if (signal.aborted) return
          const isOver = !mayPass(error)
          // The link or the session has ended, or the reviewed version, if the next response does not say otherwise.
          const pause = isOver
            ? overAt.current + RETRY_DELAY_MS - Date.now()
            : Math.max(RETRY_DELAY_MS, (error.retryAfterSeconds ?? 0) * 1000)
          if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause))
          if (!isOver) continue
          overAt.current = Date.now()
          return review.reload()
        }
      }
    }
    void follow()
    return () => listening.abort()
  }, [key, isFollowed])
  const put = (thread: ReviewThread) => review.set((known) => withThread(known, thread))
  return { ...review, value, api: api!, put, isOver: ENDS.test(error?.code ?? '') }
}

function nextEvent(target: EventTarget, name: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    target.addEventListener(name, () => resolve(), { once: true, signal })
    signal.addEventListener('abort', () => resolve())
  })
}

function withThread(review: Review, thread: ReviewThread): Review {
  const others = review.threads.filter(({ id }) => id !== thread.id)
  const threads = [...others, thread].sort((one, other) => (one.id < other.id ? 1 : -1))
  return { ...review, threads }
}
