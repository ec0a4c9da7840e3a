import type { FromFrame, Mark, Press, ToFrame } from './port.ts'

// Runs in the reviewed page (server/edge/review.ts). The page can imitate or disable all of it: it reports places and
// shows marks, and knows nothing else.

/** Filled in by the server. */
const BASE_ORIGIN = '{base_origin}'

const MAX_TEXT = 500
const MAX_NEIGHBOUR = 100
const MAX_SELECTOR = 512
/** Characters of a page that are searched for the text of a mark. */
const MAX_SEARCHED = 500_000
/** Of the text of a mark, whose neighbors are compared: a guest can write marks that each letter of a page fits. */
const MAX_OCCURRENCES = 200

const STYLE = `:host{all:initial}
.box{position:fixed;pointer-events:none;border:2px solid #0b5a75;background:#0b5a751f;border-radius:4px;box-sizing:border-box}
button{position:fixed;min-width:24px;height:24px;padding:0 6px;border:2px solid #fff;border-radius:12px 12px 12px 2px;background:#0b5a75;color:#fff;font:600 12px/20px system-ui,sans-serif;cursor:pointer;box-shadow:0 1px 4px rgb(0 0 0/.4)}
button:focus-visible{outline:3px solid #fff;outline-offset:-5px}`

let port: MessagePort | undefined
let marks: Mark[] = []
let found = new Map<string, Element | null | undefined>()
let isCommenting = false
let current: Element | undefined
let path = location.pathname
let reported = ''

const root = document.documentElement
const host = document.createElement('div')
const shadow = host.attachShadow({ mode: 'closed' })
const sheet = new CSSStyleSheet()
sheet.replaceSync(STYLE)
shadow.adoptedStyleSheets = [sheet]
const box = document.createElement('div')
box.className = 'box'

addEventListener('message', (event) => {
  const [given] = event.ports
  if (event.source !== parent || event.origin !== BASE_ORIGIN || !given) return
  event.stopImmediatePropagation()
  port?.close()
  port = given
  port.onmessage = ({ data }: MessageEvent<ToFrame>) => receive(data)
  root.append(host)
  reported = ''
  arrive()
})

function arrive(): void {
  path = location.pathname
  send({ type: 'ready', path })
}

function send(message: FromFrame): void {
  port?.postMessage(message)
}

function receive(message: ToFrame): void {
  if (message.type === 'mode') setMode(message.commenting)
  else if (message.type === 'show') show(message.id)
  else if (message.type === 'scroll') scrollBy(message)
  else if (message.type === 'press') press(message)
  else {
    marks = message.marks
    reported = ''
    placeMarks()
  }
}

function setMode(commenting: boolean): void {
  isCommenting = commenting
  root.style.cursor = commenting ? 'crosshair' : ''
  if (!commenting) choose(undefined)
}

/** Highlights what a click would comment on. */
function choose(element: Element | undefined): void {
  current = element
  draw()
}

function show(id: string): void {
  const element = found.get(id)
  if (!element) return
  element.scrollIntoView({ block: 'center' })
  choose(element)
  setTimeout(() => !isCommenting && choose(undefined), 1500)
}

function press(click: Press): void {
  const { clientX, clientY } = click
  const pressed = document.elementFromPoint(clientX, clientY)
  const target = pressed === host ? shadow.elementFromPoint(clientX, clientY) : pressed
  target?.dispatchEvent(new MouseEvent('click', click))
}

function clean(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

function selectorOf(element: Element): string {
  const parts: string[] = []
  for (let at: Element | null = element; at && at !== root; at = at.parentElement) {
    const byId = at.id && `#${CSS.escape(at.id)}`
    if (byId && document.querySelectorAll(byId).length === 1) {
      parts.unshift(byId)
      break
    }
    const { localName } = at
    const alike = [...(at.parentElement?.children ?? [])].filter((one) => one.localName === localName)
    parts.unshift(alike.length > 1 ? `${localName}:nth-of-type(${alike.indexOf(at) + 1})` : localName)
  }
  const selector = parts.join(' > ')
  return selector.length <= MAX_SELECTOR ? selector : ''
}

/** The text of the page, and the text node of each of its characters. */
function readPage(): { text: string; nodes: { start: number; node: Text }[] } {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  const nodes: { start: number; node: Text }[] = []
  let text = ''
  while (text.length < MAX_SEARCHED && walker.nextNode()) {
    const node = walker.currentNode as Text
    if (/^(?:script|style|noscript)$/.test(node.parentElement?.localName ?? '')) continue
    const words = node.data.replace(/\s+/g, ' ')
    const added = text.endsWith(' ') ? words.replace(/^ /, '') : words
    if (added === '') continue
    nodes.push({ start: text.length, node })
    text += added
  }
  return { text, nodes }
}

type PageText = ReturnType<typeof readPage>

/**
 * By its selector if the text is there; otherwise by its text, where the text around fits best. Of several equal texts,
 * none if the text around fits nowhere.
 */
function findPlace({ selector, text, before, after }: Mark, page: PageText): Element | null | undefined {
  let bySelector: Element | null = null
  try {
    bySelector = document.querySelector(selector)
  } catch {
    // The selector is empty, or another browser has made it.
  }
  if (bySelector && clean(bySelector.textContent).includes(text)) return bySelector
  if (text === '') return undefined
  let [best, score, count] = [0, -1, 0]
  for (
    let at = page.text.indexOf(text);
    at >= 0 && count < MAX_OCCURRENCES && score < 2;
    at = page.text.indexOf(text, at + 1)
  ) {
    const end = at + text.length
    const isAfter =
      before !== '' &&
      clean(page.text.slice(Math.max(0, at - MAX_NEIGHBOUR - 5), at)).endsWith(before.slice(-20))
    const isBefore =
      after !== '' && clean(page.text.slice(end, end + MAX_NEIGHBOUR + 5)).startsWith(after.slice(0, 20))
    const fits = +isAfter + +isBefore
    count++
    if (fits > score) {
      best = at
      score = fits
    }
  }
  // Beyond the limit another place may fit on both sides.
  if (score < (count === MAX_OCCURRENCES ? 2 : count > 1 ? 1 : 0)) return undefined
  return page.nodes.findLast(({ start }) => start <= best)?.node.parentElement
}

function placeMarks(): void {
  if (!port) return
  if (location.pathname !== path) {
    arrive()
    return
  }
  if (!host.isConnected) root.append(host)
  const page = readPage()
  found = new Map(marks.map((mark) => [mark.id, findPlace(mark, page)]))
  draw()
  const [placed, missing]: [string[], string[]] = [[], []]
  for (const [id, element] of found) (element ? placed : missing).push(id)
  const report = JSON.stringify([placed, missing])
  if (report !== reported && marks.length > 0) send({ type: 'placed', placed, missing })
  reported = report
}

function draw(): void {
  const items: Element[] = []
  const taken = new Set<string>()
  if (current) {
    const { left, top, width, height } = current.getBoundingClientRect()
    box.style.cssText = `left:${left}px;top:${top}px;width:${width}px;height:${height}px`
    items.push(box)
  }
  for (const { id, label } of marks) {
    const element = found.get(id)
    // The style of the page may hide it, as at another width.
    if (!element?.getClientRects().length) continue
    const { top, right } = element.getBoundingClientRect()
    let left = Math.max(2, Math.min(right, innerWidth - 30))
    while (left > 26 && taken.has(`${left} ${top}`)) left -= 26
    taken.add(`${left} ${top}`)
    const button = document.createElement('button')
    button.textContent = label
    button.ariaLabel = `Comment ${label}`
    button.style.left = `${left}px`
    button.style.top = `${top < 0 ? top - 12 : Math.max(0, top - 12)}px`
    button.onclick = () => send({ type: 'open', id })
    items.push(button)
  }
  shadow.replaceChildren(...items)
}

/** The place of an element, or of the selected text in it. */
function report(element: Element, selected?: string): void {
  const page = readPage()
  const text = clean(selected || element.textContent).slice(0, MAX_TEXT)
  const from = page.nodes.find(({ node }) => element.contains(node))?.start ?? 0
  const at = Math.max(text === '' ? from : page.text.indexOf(text, from), 0)
  send({
    type: 'place',
    place: {
      path: location.pathname,
      selector: selectorOf(element),
      text,
      before: clean(page.text.slice(Math.max(0, at - MAX_NEIGHBOUR), at)),
      after: clean(page.text.slice(at + text.length, at + text.length + MAX_NEIGHBOUR)),
      width: innerWidth,
      height: innerHeight,
    },
  })
}

function isOwn(event: Event): boolean {
  return event.composedPath().includes(host)
}

function elementAt({ target }: Event): Element | undefined {
  return target instanceof Element && target !== root ? target : undefined
}

/** Before the handlers of the page. */
function whileCommenting<Name extends keyof WindowEventMap>(
  name: Name,
  handle: (event: WindowEventMap[Name]) => void,
): void {
  addEventListener(name, (event) => void (isCommenting && !isOwn(event) && handle(event)), true)
}

whileCommenting('pointermove', (event) => choose(elementAt(event)))
whileCommenting('click', (event) => {
  event.preventDefault()
  event.stopImmediatePropagation()
  const selection = getSelection()
  // The text of a selection itself is as the style of the page shows it, such as in capitals.
  const range = selection?.toString() ? selection.getRangeAt(0) : undefined
  const around = range?.commonAncestorContainer
  const element = around instanceof Element ? around : (around?.parentElement ?? elementAt(event))
  if (element) report(element, range?.toString())
})
whileCommenting('submit', (event) => event.preventDefault())
whileCommenting('keydown', (event) => {
  const steps: Record<string, number> = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }
  const step = steps[event.key]
  const focused = document.activeElement
  const start = current ?? (focused && focused !== document.body ? focused : undefined)
  if (event.key === 'Escape') send({ type: 'cancel' })
  else if (event.key === 'Enter' && start) report(start)
  else if (step === undefined) return
  else move(start, step)
  event.preventDefault()
  event.stopImmediatePropagation()
})
whileCommenting('focusin', (event) => choose(elementAt(event)))

/** To the next element with text, a picture or a shadow tree of its own. */
function move(from: Element | undefined, step: number): void {
  const all = [...document.body.querySelectorAll('*')].filter(
    (one) =>
      one.getClientRects().length > 0 &&
      (one.matches('img,svg,video,button,a,input') ||
        one.shadowRoot ||
        [...one.childNodes].some((node) => node.nodeType === 3 && node.nodeValue?.trim())),
  )
  const at = all.indexOf(from!)
  const next = all[(at < 0 && step < 0 ? all.length : at) + step]
  if (!next) return
  next.scrollIntoView({ block: 'nearest' })
  choose(next)
}

/** A sandbox ignores links out of the frame, and a page that leads to another site is not shown (docs/review.md). */
addEventListener('click', (event) => {
  const link = event
    .composedPath()
    .find((one) => one instanceof HTMLAnchorElement || one instanceof HTMLAreaElement)
  if (!port || event.defaultPrevented || !link?.href) return
  const target = link.target || document.querySelector<HTMLBaseElement>('base[target]')?.target || '_self'
  const isInside = target === '_self' || document.getElementsByName(target).length > 0
  const isOfSite = link.origin === location.origin && !link.hasAttribute('download')
  const isOfPage = isOfSite && link.hash !== '' && link.pathname === location.pathname
  if (isInside && (isOfPage || link.protocol === 'javascript:')) return
  const isNew = event.ctrlKey || event.metaKey || event.shiftKey
  if (!isOfSite || isNew) event.preventDefault()
  if (isOfSite && isNew) location.assign(link.href)
  else if (!isInside) link.target = '_self'
  send({ type: 'link', isOfSite })
})

/** A function whose calls run another one, once for all until `schedule` does so. */
function once(schedule: (run: () => void) => unknown, work: () => void): () => void {
  let isScheduled = false
  const run = () => {
    isScheduled = false
    work()
  }
  return () => {
    if (!isScheduled) schedule(run)
    isScheduled = true
  }
}

const drawSoon = once(requestAnimationFrame, draw)

/** In idle time, at most twice a second, however often the page changes. */
const placeSoon = once((run) => {
  setTimeout(() => {
    if ('requestIdleCallback' in window) requestIdleCallback(run, { timeout: 1000 })
    else run()
  }, 500)
}, placeMarks)

new MutationObserver(placeSoon).observe(root, {
  childList: true,
  subtree: true,
  characterData: true,
})
addEventListener('scroll', drawSoon, { capture: true, passive: true })
addEventListener('resize', drawSoon)
addEventListener('popstate', placeSoon)
