import { useEffect, useRef, useState } from 'preact/hooks'
import type {
  Review,
  ReviewDecision,
  ReviewPlace,
  ReviewThread,
  ThreadChange,
} from '../../protocol/api/reviews.schema.ts'
import { MAX_COMMENT_LENGTH, MAX_REVIEWER_NAME_LENGTH } from '../../protocol/api/reviews.ts'
import { truncate } from '../../protocol/format.ts'
import { handleSubmit, useAction } from '../api/action.ts'
import { browser } from '../api/browser-storage.ts'
import { Signal } from '../api/signal.ts'
import { useSignal } from '../api/use-signal.ts'
import { Button } from '../kit/button.tsx'
import { TextArea, TextField } from '../kit/field.tsx'
import { StoppedNotice, useFrameGuard } from '../kit/frame-guard.tsx'
import { useKeptInput, withoutSent } from '../kit/kept-input.ts'
import { ErrorNotice, focusAround, Notice, useFocusAround } from '../kit/notice.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { showToast } from '../kit/toast.tsx'
import { DecisionPanel } from './decision-panel.tsx'
import type { FromFrame, Mark } from './port.ts'
import { ReviewFrame } from './review-frame.tsx'
import { hasReply, ThreadCard } from './thread-card.tsx'
import type { FollowedReview } from './use-review.ts'

const WIDTHS = [
  ['Fit', undefined],
  ['Phone', 390],
  ['Tablet', 820],
  ['Desk', 1280],
] as const

const FILTERS = ['open', 'resolved', 'outdated'] as const
type Filter = (typeof FILTERS)[number]

/** Milliseconds after which a page whose script has not answered has none, before and after it has loaded. */
const SCRIPT_TIMEOUT_MS = { requested: 5000, loaded: 2000 }

const IS_TOUCHED = matchMedia('(pointer: coarse)').matches

const [GESTURE, GESTURE_HELP] = IS_TOUCHED
  ? ['Tap the page', 'To comment on words, select them first.']
  : ['Click on the page', 'With the keyboard: arrow keys choose, Enter comments, Escape ends.']

const LINK_OUT =
  'This link does not open in a review. It leads to another site, to a download or to another program.'

/** Of places, for a version on screen. */
const MAX_REPORTS = 50

/** A reviewed version in a frame, with its threads and decisions beside it. */
export function ReviewDesk({ review }: { review: FollowedReview }) {
  // What is on screen stays when another version arrives.
  const [chosen, show] = useState<Pick<Review, 'versionId' | 'frame'> | undefined>(undefined)
  // Another version begins with the same page.
  const page = useRef('/')
  const { value, error, reload } = review
  const first = useRef(value)
  first.current ??= value
  const shown = chosen ?? first.current
  // A view may have ended with what failed.
  const isRetried = useRef(false)
  const retry = () => {
    isRetried.current = true
    reload()
  }
  useEffect(() => {
    if (isRetried.current && value?.versionId === shown?.versionId) show(value)
    isRetried.current = false
  }, [value])
  if (!value || !shown) {
    return error ? (
      <ErrorNotice error={error} onRetry={retry} />
    ) : (
      <Loading what="the review" shape="picture" />
    )
  }
  return (
    <>
      <ErrorNotice error={error} onRetry={retry} />
      {value.versionId !== shown.versionId && (
        <Notice title="A newer version was published.">
          <p>
            <Button
              onClick={() => {
                focusAround()
                show(value)
              }}
            >
              Show it
            </Button>
          </p>
        </Notice>
      )}
      <Desk key={shown.versionId} followed={review} review={value} {...{ shown, page, show }} />
    </>
  )
}

interface DeskProps {
  followed: FollowedReview
  review: Review
  shown: Pick<Review, 'versionId' | 'frame'>
  /** The path of the page that was shown last. */
  page: { current: string }
  show: (shown: Review) => void
}

/** What a reviewer does with the version on screen. */
function useDesk(props: DeskProps) {
  const { followed, review, shown, page, show } = props
  const { api, isOver, reload, put } = followed
  const [requested, request] = useState({ path: page.current, count: 0 })
  const [path, setPath] = useState(page.current)
  const [commenting, setCommenting] = useState(false)
  const comment = useComment(review)
  const [selected, select] = useState<ReviewThread | undefined>(undefined)
  const [filter, setFilter] = useState<Filter>('open')
  const script = useScriptCheck(`${shown.frame.url} ${requested.path} ${requested.count}`)
  const guestName = useSignal(reviewerName).trim()
  const named = review.role === 'guest' ? { name: guestName } : {}
  const { versionId } = shown
  const report = usePlacementReports(props)
  const open = (thread: ReviewThread) => {
    select({ ...thread })
    if (thread.place.path !== path) request(({ count }) => ({ path: thread.place.path, count: count + 1 }))
  }
  const back = async () => {
    await api.get().then(show, reload)
    request(({ count }) => ({ path, count: count + 1 }))
  }
  const receive = (message: FromFrame) => {
    if (message.type === 'ready') {
      script.confirm()
      setPath(message.path)
      page.current = message.path
    } else if (message.type === 'place') {
      // The page can send places whenever it wants to.
      if (!commenting) return
      comment.put(withoutHalves(message.place))
      setCommenting(false)
    } else if (message.type === 'cancel') setCommenting(false)
    else if (message.type === 'link') {
      if (message.isOfSite) script.expect(SCRIPT_TIMEOUT_MS.requested)
      else showToast(LINK_OUT)
    } else if (message.type === 'open') {
      const thread = review.threads.find(({ id, place }) => id === message.id && place.path === path)
      if (thread) open(thread)
    } else void report(message, path)
  }
  const add = async (text: string) => {
    const thread = await api.createThread({ versionId, place: comment.place!, text, ...named })
    put(thread)
    select(thread)
    comment.setSent()
    setFilter('open')
  }
  const change = async (thread: ReviewThread, given: ThreadChange) =>
    put(await api.addToThread(thread.id, { ...given, ...named }))
  const decide = async (decision: ReviewDecision['decision'], note: string) => {
    await api.decide({ decision, versionId, ...named, ...(note !== '' && { note }) })
    reload()
  }
  const canWrite = !isOver && (review.role !== 'guest' || guestName !== '')
  return {
    ...{ requested, path, commenting, setCommenting, comment, selected, filter, setFilter },
    ...{ script, canWrite, open, back, receive, add, change, decide },
  }
}

/** A frame that was away loads its page again, with a new grant, unless the version on screen was replaced. */
function useReturn(isAway: boolean, { followed, shown, show }: DeskProps): boolean {
  const [isGranted, setGranted] = useState(true)
  const renew = async () => {
    const latest = await followed.api.get().catch(() => undefined)
    const isCurrent = latest?.versionId === shown.versionId
    if (latest && isCurrent) show(latest)
    else followed.reload()
    setGranted(isCurrent || latest === undefined)
  }
  useEffect(() => {
    if (isAway) setGranted(false)
    else if (!isGranted) void renew()
  }, [isAway])
  return !isAway && isGranted
}

function Desk(props: DeskProps) {
  const { followed, review, shown } = props
  const desk = useDesk(props)
  const { path, commenting, comment, selected, canWrite, requested } = desk
  const commentOnPage = () => desk.receive({ type: 'place', place: wholePage(path, frame.current!) })
  const [width, setWidth] = useState<number | undefined>(undefined)
  const frame = useRef<HTMLIFrameElement>(null)
  const guard = useFrameGuard(frame, {
    src: shown.frame.url,
    mayFocus: () => commenting || IS_TOUCHED || frame.current!.matches(':hover'),
  })
  const isDrawn = useReturn(guard.isAway, props)
  const labels = new Map([...review.threads].reverse().map(({ id }, index) => [id, `${index + 1}`]))
  return (
    <div class="review-desk">
      <div class="stack tight">
        {review.role === 'guest' && <GuestName />}
        <Toolbar {...{ desk, canWrite, width, setWidth }} />
        {guard.isStopped ? (
          <StoppedNotice guard={guard} />
        ) : (
          <Silence script={desk.script} onBack={desk.back} />
        )}
        {commenting && (
          <p class="choices small">
            {GESTURE_HELP}
            <Button variant="link" disabled={!isDrawn} onClick={commentOnPage}>
              Comment on the whole page
            </Button>
          </p>
        )}
        <ReviewFrame
          src={pageUrl(shown.frame.url, requested.path)}
          current={pageUrl(shown.frame.url, path)}
          visit={requested.count}
          marks={marksOf(review.threads, { path, labels, selectedId: selected?.id })}
          isHidden={desk.script.silence === 'left' && !guard.isStopped}
          shown={selected?.place.path === path ? selected : undefined}
          {...{ frame, guard, isDrawn, width, commenting }}
          onLoad={desk.script.expect}
          onMessage={desk.receive}
        />
      </div>
      <aside class="stack review-side" tabIndex={-1} aria-label="Comments and decision">
        <DecisionPanel {...{ review, canWrite, versionId: shown.versionId }} onDecide={desk.decide} />
        {followed.isOver && <p>You can no longer comment here. Your text stays until you leave the page.</p>}
        {comment.place && <Composer {...{ comment, canWrite }} onSend={desk.add} />}
        <ThreadList
          {...{ review, labels, canWrite, filter: desk.filter, selectedId: selected?.id }}
          onFilter={desk.setFilter}
          onOpen={desk.open}
          onChange={desk.change}
        />
      </aside>
    </div>
  )
}

interface ToolbarProps {
  desk: ReturnType<typeof useDesk>
  canWrite: boolean
  width: number | undefined
  setWidth: (width: number | undefined) => void
}

function Toolbar({ desk, canWrite, width, setWidth }: ToolbarProps) {
  return (
    <div class="choices" role="toolbar" aria-label="Review">
      <Button
        variant={desk.commenting ? 'main' : 'plain'}
        icon="edit"
        disabled={!canWrite}
        onClick={() => desk.setCommenting(!desk.commenting)}
      >
        {desk.commenting ? GESTURE : 'Comment'}
      </Button>
      <Segments label="Width" options={WIDTHS} value={width} onChoose={setWidth} />
      <span class="quiet small page-path">
        <bdi>{desk.path}</bdi>
      </span>
    </div>
  )
}

/** By the ids of threads. */
type Labels = ReadonlyMap<string, string>

/** The open threads of a page, and the one that is selected. */
function marksOf(
  threads: readonly ReviewThread[],
  { path, labels, selectedId }: { path: string; labels: Labels; selectedId: string | undefined },
): Mark[] {
  return threads
    .filter(({ id, status, place }) => place.path === path && (status === 'open' || id === selectedId))
    .map(({ id, place: { selector, text, before, after } }) => {
      return { id, selector, text, before, after, label: labels.get(id)! }
    })
}

function GuestName() {
  const name = useSignal(reviewerName)
  return (
    <div class="review-subject">
      <TextField
        label="Your name"
        hint={name.trim() === '' ? 'Enter it to comment and decide. Others see it.' : undefined}
        value={name}
        maxLength={MAX_REVIEWER_NAME_LENGTH}
        autocomplete="name"
        onWrite={rememberName}
      />
    </div>
  )
}

/** A page without the script of the review; one that follows a page with it is hidden: it may be an error page. */
const SILENCES = {
  blocked: {
    title: 'This page shows no marks.',
    reasons: 'Its policy may block the script of the review, or the page does not exist.',
  },
  left: {
    title: "The review can't follow this link.",
    reasons:
      'It may lead to another site, to a download or to a page that does not exist, or the view has ended.',
  },
}

function Silence({ script, onBack }: { script: ScriptCheck; onBack: () => unknown }) {
  const { silence, admit } = script
  if (!silence) return null
  const { title, reasons } = SILENCES[silence]
  return (
    <Notice tone="warn" title={title}>
      <p>{reasons}</p>
      <p class="choices">
        <Button onClick={onBack}>Load the last page</Button>
        {silence === 'left' && (
          <Button variant="link" onClick={admit}>
            Show it without marks
          </Button>
        )}
      </p>
    </Notice>
  )
}

/** A place that each version of the page has. */
function wholePage(path: string, { clientWidth, clientHeight }: Element): ReviewPlace {
  return { path, selector: 'body', text: '', before: '', after: '', width: clientWidth, height: clientHeight }
}

/** A path of the page at the host of the frame, whatever a reviewer wrote there. */
function pageUrl(frameUrl: string, path: string): string {
  const url = new URL(frameUrl)
  url.pathname = path
  return url.href
}

type Placements = Extract<FromFrame, { type: 'placed' }>

/**
 * Sends the server what it does not know yet about the places in the version on screen: one request at a time, with the
 * newest report, and a bounded number for a version, because a page can report as often as it wants to. Threads of
 * other pages are not its own.
 */
function usePlacementReports(props: DeskProps) {
  const latest = useRef(props)
  latest.current = props
  const state = useRef({ left: MAX_REPORTS, isSending: false, next: undefined as Placements | undefined })
  return async (message: Placements, path: string): Promise<void> => {
    const reports = state.current
    reports.next = message
    if (reports.isSending) return
    reports.isSending = true
    while (reports.next && reports.left > 0) {
      const { followed, review, shown } = latest.current
      const ofPage = review.threads.filter(({ place }) => place.path === path)
      const known = new Map(ofPage.map(({ id, outdated }) => [id, outdated]))
      const placed = reports.next.placed.filter((id) => known.get(id) === true)
      const missing = reports.next.missing.filter((id) => known.get(id) === false)
      reports.next = undefined
      if (review.versionId !== shown.versionId || placed.length + missing.length === 0) continue
      reports.left--
      const report = { versionId: shown.versionId, placed, missing }
      await followed.api.reportPlacements(report).then(followed.reload, () => undefined)
    }
    reports.isSending = false
  }
}

type ScriptCheck = ReturnType<typeof useScriptCheck>

/** Notices when the script of the frame has not answered for a while. */
function useScriptCheck(src: string) {
  const [silence, setSilence] = useState<keyof typeof SILENCES | undefined>(undefined)
  const hasAnswered = useRef(false)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const expect = (timeout = SCRIPT_TIMEOUT_MS.loaded) => {
    clearTimeout(timer.current)
    setSilence(undefined)
    timer.current = setTimeout(() => setSilence(hasAnswered.current ? 'left' : 'blocked'), timeout)
  }
  useEffect(() => {
    expect(SCRIPT_TIMEOUT_MS.requested)
    return () => clearTimeout(timer.current)
  }, [src])
  const confirm = () => {
    clearTimeout(timer.current)
    setSilence(undefined)
    hasAnswered.current = true
  }
  return { silence, expect, confirm, admit: () => setSilence('blocked') }
}

/** The comment that is being written. */
function useComment({ slug, preview }: Review) {
  const [kept, keep] = useKeptInput<{ place: ReviewPlace; text: string }>(`comment/${slug}/${preview ?? ''}`)
  const [place, setPlace] = useState(kept?.place)
  const text = kept?.text ?? ''
  const set = (place: ReviewPlace | undefined, text: string) => {
    setPlace(place)
    keep(() => (place && text !== '' ? { place, text } : undefined))
  }
  return {
    place,
    text,
    write: (text: string) => set(place, text),
    put: (place: ReviewPlace | undefined) => set(place, text),
    /** Forgets the comment as it was sent, not what was typed or chosen since. */
    setSent: () => {
      const left = keep((now) => (now?.text === text ? undefined : now))
      if (!left) setPlace(withoutSent(place, undefined))
    },
  }
}

interface ComposerProps {
  comment: ReturnType<typeof useComment>
  canWrite: boolean
  onSend: (text: string) => Promise<void>
}

function Composer({ comment: { place, text, write, put }, canWrite, onSend }: ComposerProps) {
  const form = useRef<HTMLFormElement>(null)
  useFocusAround(form)
  const box = useRef<HTMLTextAreaElement>(null)
  const send = useAction(() => onSend(text.trim()))
  useEffect(() => {
    if (text === '') box.current?.focus()
  }, [])
  return (
    <form class="panel composer stack tight" ref={form} onSubmit={handleSubmit(send)}>
      {place?.text && (
        <p class="quote small">
          <bdi>{place.text}</bdi>
        </p>
      )}
      <TextArea label="Comment" box={box} value={text} maxLength={MAX_COMMENT_LENGTH} onWrite={write} />
      <ErrorNotice error={send.error} />
      <div class="choices">
        <Button variant="main" busy={send.busy} disabled={!canWrite || text.trim() === ''}>
          Add comment
        </Button>
        <Button onClick={() => put(undefined)}>Cancel</Button>
      </div>
    </form>
  )
}

function filterOf({ status, outdated }: ReviewThread): Filter {
  return status === 'open' && outdated ? 'outdated' : status
}

interface ThreadListProps {
  review: Review
  filter: Filter
  labels: Labels
  canWrite: boolean
  selectedId: string | undefined
  onFilter: (filter: Filter) => void
  onOpen: (thread: ReviewThread) => void
  onChange: (thread: ReviewThread, change: ThreadChange) => Promise<void>
}

/** The threads of all pages, by page. */
function ThreadList(props: ThreadListProps) {
  const { review, filter, labels, canWrite, selectedId, onFilter, onOpen, onChange } = props
  const wanted = review.threads.filter(
    (thread) => filterOf(thread) === filter || hasReply(review.slug, thread),
  )
  const pages = Map.groupBy(wanted, ({ place }) => place.path)
  const count = (one: Filter) => review.threads.filter((thread) => filterOf(thread) === one).length
  const change = async (thread: ReviewThread, given: ThreadChange) => {
    await onChange(thread, given)
    // Others may have resolved it since the reply was begun.
    if (given.text !== undefined) onFilter(filterOf(thread))
  }
  return (
    <section class="stack tight" aria-labelledby="comments" tabIndex={-1}>
      <h2 id="comments">Comments</h2>
      <Segments
        label="Show comments"
        options={FILTERS.map((one) => [`${one} ${count(one)}`, one] as const)}
        value={filter}
        onChoose={onFilter}
      />
      {wanted.length === 0 && <p class="quiet">No {filter} comments.</p>}
      {[...pages].map(([path, threads]) => (
        <div key={path} class="stack tight">
          <h3 class="small page-path">
            <bdi>{path}</bdi>
          </h3>
          <ul class="plain-list stack tight" aria-label={`Comments on ${path}`}>
            {threads.map((thread) => (
              <ThreadCard
                key={thread.id}
                slug={review.slug}
                thread={thread}
                label={labels.get(thread.id)!}
                isSelected={thread.id === selectedId}
                canWrite={canWrite}
                onSelect={() => onOpen(thread)}
                onChange={(given) => change(thread, given)}
              />
            ))}
          </ul>
        </div>
      ))}
    </section>
  )
}

interface SegmentsProps<T> {
  label: string
  options: readonly (readonly [name: string, value: T])[]
  value: T
  onChoose: (value: T) => void
}

/** One of a few, all of which are visible. */
function Segments<T>({ label, options, value, onChoose }: SegmentsProps<T>) {
  return (
    <fieldset class="segments" aria-label={label}>
      {options.map(([name, one]) => (
        <button key={name} type="button" aria-pressed={value === one} onClick={() => onChoose(one)}>
          {name}
        </button>
      ))}
    </fieldset>
  )
}

const STORED = 'slipway.reviewer'

/** How a reviewer without an account calls itself, in this browser. */
const reviewerName = new Signal(truncate(browser.read(STORED) ?? '', MAX_REVIEWER_NAME_LENGTH))

function rememberName(name: string): void {
  reviewerName.value = name
  browser.write(STORED, name.trim() || null)
}

/** Its texts were cut at a length, which may leave half of a surrogate pair. */
function withoutHalves(place: ReviewPlace): ReviewPlace {
  const clean = (text: string) => text.replace(/\p{Cs}/gu, '')
  return { ...place, text: clean(place.text), before: clean(place.before), after: clean(place.after) }
}
