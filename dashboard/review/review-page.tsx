import { useEffect, useState } from 'preact/hooks'
import type { Review } from '../../protocol/api/reviews.schema.ts'
import { tab } from '../api/browser-storage.ts'
import { slipway } from '../api/slipway.ts'
import { Page } from '../app/page.tsx'
import { ReviewDesk } from './review-desk.tsx'
import { useReview } from './use-review.ts'

/** The token of the link, for this tab only. */
const STORED = 'slipway.review'

/** As in `early.ts`. Other fragments, such as that of the skip link, are places in the page. */
const TOKEN = /^#[\w-]{43}$/

const HAS_ENDED = 'Ask the person who sent it for another one.'
const NOT_INVITED = 'Ask the owner to add your address to the people of the site.'

/** The page of a review link. Its token is the fragment, which no server sees; it leaves the address immediately. */
export function ReviewPage() {
  const [token, setToken] = useState(readToken)
  useEffect(() => {
    const read = () => setToken(readToken())
    addEventListener('hashchange', read)
    return () => removeEventListener('hashchange', read)
  }, [])
  if (token === undefined)
    return (
      <Page title="Review" narrow>
        <p class="lead">Open the whole link that you were sent: this address has no review.</p>
      </Page>
    )
  return <LinkedReview key={token} token={token} />
}

function readToken(): string | undefined {
  if (!TOKEN.test(location.hash)) return tab.read(STORED) ?? undefined
  const given = location.hash.slice(1)
  tab.write(STORED, given)
  history.replaceState(history.state, '', location.pathname)
  return given
}

function LinkedReview({ token }: { token: string }) {
  const client = slipway.with({ reviewToken: token })
  const review = useReview(
    `link/${token}`,
    async () => (await takeEarly()) ?? client.openReview(),
    ({ slug, preview }) => client.review(slug, preview ?? undefined),
  )
  const { value } = review
  const error = review.error && { ...review.error }
  if (error?.code === 'NOT_FOUND')
    error.hint = error.title.startsWith('This review is for') ? NOT_INVITED : HAS_ENDED
  const name = value && (value.preview === null ? value.slug : `${value.preview} (${value.slug})`)
  return (
    <Page title={name === undefined ? 'Review' : `Review: ${name}`}>
      <ReviewDesk review={{ ...review, error }} />
      {/* The tab keeps the link. */}
      {error?.code === 'UNAUTHORIZED' && <a href="/sign-in?then=/review">Sign in</a>}
    </Page>
  )
}

/** The review that was requested while the scripts were loading; undefined for a failure, and later. */
function takeEarly(): Promise<Review | undefined> | undefined {
  const early = globalThis.earlyReview
  globalThis.earlyReview = undefined
  return early
}
