/**
 * The claim page (spec 4.12): shows the site of a claim link, signs its holder in by mailed code, claims.
 *
 * @import { ClaimAnswer, ClaimPreview, ErrorBody, Me, RequestCodeAnswer, SessionAnswer } from '../client/wire.ts'
 */

/** Where the browser remembers who signed in, so that nobody else causes a request that is bound to fail. */
const SIGNED_IN = 'slipway.signed-in'

/** Where the tab remembers a mailed code: a phone may drop the page while its owner reads the mail. */
const CODE_SENT = 'slipway.code-sent'

/** What to do about a link that leads nowhere any more, by the code of the failure. @type {Record<string, string>} */
const WAYS_ON = {
  INVALID_CLAIM_TOKEN: 'Check that the link is whole: copy it again, to its last character.',
  NOT_FOUND: 'It may have been deleted. If not, check that the link is whole.',
  SITE_EXPIRED: 'Publish the folder again: it gets a new address and a new claim link.',
  ALREADY_CLAIMED: 'Only its owner can change it. You can publish the folder again as a site of your own.',
}

/** What the API refused, in its words; or that it cannot be reached, in ours. */
class Refusal extends Error {
  /** @param {string} sentence @param {string} code */
  constructor(sentence, code) {
    super(/[.!?]$/.test(sentence) ? sentence : `${sentence}.`)
    this.code = code
  }
}

const sections = ['looking', 'trouble', 'owned', 'offer', 'done'].map((id) => element(id, HTMLElement))
const steps = ['email-step', 'code-step', 'claim-step'].map((id) => element(id, HTMLFormElement))
const emailField = element('email', HTMLInputElement)
const codeField = element('code', HTMLInputElement)
const notice = element('notice', HTMLElement)

const query = new URLSearchParams(location.search)
const slug = query.get('slug') ?? ''
const claimToken = query.get('token') ?? ''
const claimPath = `/api/v1/publish/${encodeURIComponent(slug)}/claim`

const tab = storage(() => sessionStorage)
const browser = storage(() => localStorage)

let busy = false
/** The address that the code was mailed to. */
let mailedTo = ''
/** @type {ReturnType<typeof setTimeout> | undefined} */
let countdown
/** Milliseconds that the server's clock is ahead of this one. */
let clockAhead = 0

onSubmit('email-step', () => mailCode(emailField.value.trim()))
onSubmit('code-step', signInAndClaim)
onSubmit('claim-step', claim)
onClick('resend', () => mailCode(mailedTo))
onClick('another', askForEmail)
onClick('other-account', askForEmail)
onClick('again', look)

if (slug && claimToken) await look()
else
  stop(
    'This claim link is not whole.',
    'It ends in slug=… and token=…: copy it again, to its last character.',
  )

/** Asks the server what the link leads to, and shows it. */
async function look() {
  show('looking')
  try {
    const [preview, email] = await Promise.all([lookAtSite(), signedInAs()])
    if (preview.claimed) showOwned(preview)
    else showOffer(preview, email)
  } catch (error) {
    refuse(refusalIn(error))
  }
}

/** @returns {Promise<ClaimPreview>} */
function lookAtSite() {
  return call('POST', `${claimPath}/preview`, { claimToken })
}

/** Who is signed in here, as the server sees it. */
async function signedInAs() {
  if (!browser?.getItem(SIGNED_IN)) return undefined
  try {
    /** @type {Me} */
    const me = await call('GET', '/api/v1/me')
    return me.email
  } catch (error) {
    if (refusalIn(error).code === 'UNAUTHORIZED') browser.removeItem(SIGNED_IN)
    return undefined
  }
}

/** @param {ClaimPreview} preview */
function showOwned({ siteUrl }) {
  link('owned-address', siteUrl)
  show('owned')
}

/** @param {ClaimPreview} preview @param {string | undefined} email of who is signed in */
function showOffer({ title, siteUrl, status, fileCount, totalBytes, expiresAt }, email) {
  document.title = `Claim ${title || slug} · Slipway`
  element('name', HTMLElement).textContent = title || slug
  link('address', siteUrl)
  element('holds', HTMLElement).textContent = `${count(fileCount, 'file')}, ${size(totalBytes)}`
  element('left-row', HTMLElement).hidden = expiresAt === null
  if (expiresAt !== null) countDown(Date.parse(expiresAt))
  show('offer')
  notice.textContent = status === 'pending' ? 'Its first upload is not finished yet.' : ''
  const sent = codeSent()
  if (email !== undefined) offerClaim(email)
  else if (sent) askForCode(sent)
  else step('email-step')
}

/** @param {number} expiresAt milliseconds, by the server's clock */
function countDown(expiresAt) {
  clearTimeout(countdown)
  const left = expiresAt - Date.now() - clockAhead
  element('left', HTMLElement).textContent = left > 0 ? span(left) : 'a moment'
  if (left > 0 || busy) countdown = setTimeout(countDown, 1000, expiresAt)
  else countdown = setTimeout(look, 2000)
}

function askForEmail() {
  tab?.removeItem(CODE_SENT)
  notice.textContent = ''
  step('email-step')
  emailField.focus()
}

/** @param {string} email */
async function mailCode(email) {
  /** @type {RequestCodeAnswer} */
  const answer = await call('POST', '/api/auth/agent/request-code', { email })
  const sent = { email: answer.email, until: Date.now() + answer.expiresInSeconds * 1000 }
  tab?.setItem(CODE_SENT, JSON.stringify(sent))
  askForCode(sent)
  codeField.select()
}

/** The code that this tab had mailed, while it works. @returns {{ email: string, until: number } | undefined} */
function codeSent() {
  const sent = JSON.parse(tab?.getItem(CODE_SENT) ?? 'null')
  return sent?.until > Date.now() ? sent : undefined
}

/** @param {{ email: string, until: number }} sent */
function askForCode({ email, until }) {
  mailedTo = email
  const minutes = Math.ceil((until - Date.now()) / 60_000)
  notice.textContent = `A code is on its way to ${email}. It works for ${count(minutes, 'minute')}.`
  step('code-step')
}

/** A code works once: after it, another try starts from being signed in. */
async function signInAndClaim() {
  /** @type {SessionAnswer} */
  const { email } = await call('POST', '/api/auth/session', { email: mailedTo, code: codeField.value })
  browser?.setItem(SIGNED_IN, email)
  tab?.removeItem(CODE_SENT)
  codeField.value = ''
  notice.textContent = ''
  offerClaim(email)
  await claim()
}

/** @param {string} email */
function offerClaim(email) {
  element('claim', HTMLElement).textContent = `Claim as ${email}`
  step('claim-step')
}

async function claim() {
  try {
    showDone(await call('POST', claimPath, { claimToken }))
  } catch (error) {
    const refusal = refusalIn(error)
    if (refusal.code in WAYS_ON) return refuse(refusal)
    if (refusal.code !== 'UNAUTHORIZED') throw refusal
    browser?.removeItem(SIGNED_IN)
    askForEmail()
    complain(
      'You are not signed in any more. Some browsers stay signed in only over https; a new code is another try.',
    )
  }
}

/** @param {ClaimAnswer} answer */
function showDone({ siteUrl, alreadyOwned }) {
  clearTimeout(countdown)
  if (alreadyOwned) element('done-title', HTMLElement).textContent = 'The site was yours already.'
  document.title = 'Claimed · Slipway'
  link('done-address', siteUrl)
  element('login', HTMLElement).textContent = `npx slipway login \\\n  --server ${location.origin}`
  show('done')
}

/** @param {Refusal} refusal */
function refuse({ message, code }) {
  stop(message, WAYS_ON[code] ?? 'Nothing is lost: try again in a while.', !(code in WAYS_ON))
}

/** @param {string} what @param {string} wayOn @param {boolean} [retry] whether another try may end better */
function stop(what, wayOn, retry = false) {
  clearTimeout(countdown)
  element('trouble-title', HTMLElement).textContent = what
  element('trouble-way', HTMLElement).textContent = wayOn
  element('again', HTMLButtonElement).hidden = !retry
  show('trouble')
}

/** Shows one section, and takes the reader to its heading. @param {string} id */
function show(id) {
  for (const section of sections) section.hidden = section.id !== id
  const heading = document.querySelector(`#${id} > h1`)
  if (heading instanceof HTMLElement) heading.focus()
}

/** @param {string} id */
function step(id) {
  for (const form of steps) form.hidden = form.id !== id
  complain('')
}

/** Says in the step that is shown what went wrong there. @param {string} sentence empty when nothing did */
function complain(sentence, isAboutField = false) {
  for (const form of steps) {
    const wrong = /** @type {HTMLElement} */ (form.querySelector('[role=alert]'))
    const field = form.querySelector('input')
    wrong.textContent = form.hidden ? '' : sentence
    field?.setAttribute('aria-invalid', String(!form.hidden && isAboutField))
    if (!form.hidden && isAboutField) field?.select()
  }
}

/** @param {string} id @param {() => Promise<void>} work */
function onSubmit(id, work) {
  element(id, HTMLFormElement).addEventListener('submit', (event) => {
    event.preventDefault()
    void once(work)
  })
}

/** @param {string} id @param {() => void | Promise<void>} work */
function onClick(id, work) {
  element(id, HTMLButtonElement).addEventListener('click', () => void once(work))
}

/** Does one thing at a time; what goes wrong is said where it happens. @param {() => void | Promise<void>} work */
async function once(work) {
  if (busy) return
  setBusy(true)
  complain('')
  try {
    await work()
  } catch (error) {
    const { message, code } = refusalIn(error)
    complain(message, code === 'VALIDATION_ERROR' || code === 'INVALID_CODE')
  } finally {
    setBusy(false)
  }
}

/** @param {boolean} now */
function setBusy(now) {
  busy = now
  for (const button of document.querySelectorAll('button')) button.setAttribute('aria-disabled', String(now))
}

/**
 * The JSON of the API's answer. Throws a Refusal. Requests stay in fetch's default mode, `cors`: in any other, the page's
 * referrer policy would empty the Origin header, by which the API knows its own pages.
 *
 * @param {'GET' | 'POST'} method @param {string} path @param {object} [body] @returns {Promise<any>}
 */
async function call(method, path, body) {
  const headers = { 'Content-Type': 'application/json' }
  const request = body ? { method, headers, body: JSON.stringify(body) } : { method }
  let response
  let answer
  try {
    response = await fetch(path, { ...request, signal: AbortSignal.timeout(30_000) })
    answer = await response.json()
  } catch {
    throw new Refusal('The server does not answer. Check your connection and try again', 'UNREACHABLE')
  }
  setClock(response)
  if (response.ok) return answer
  const { error, code, details } = /** @type {ErrorBody} */ (answer)
  const problem = code === 'VALIDATION_ERROR' && Array.isArray(details) ? details[0] : undefined
  throw new Refusal(problem ? `This ${problem.message}` : error, code)
}

/** The refusal that was caught; whatever else was thrown is a mistake of ours. @param {unknown} error */
function refusalIn(error) {
  if (error instanceof Refusal) return error
  throw error
}

/** @param {Response} response */
function setClock({ headers }) {
  const time = Date.parse(headers.get('Date') ?? '')
  if (time) clockAhead = time - Date.now()
}

/** Storage, unless the browser keeps it from pages. @param {() => Storage} find */
function storage(find) {
  try {
    return find()
  } catch {
    return undefined
  }
}

/** @template {HTMLElement} T @param {string} id @param {new () => T} kind @returns {T} */
function element(id, kind) {
  const found = document.getElementById(id)
  if (found instanceof kind) return found
  throw new Error(`claim.html has no ${kind.name} with the id ${id}`)
}

/** @param {string} id @param {string} address */
function link(id, address) {
  const anchor = element(id, HTMLAnchorElement)
  anchor.href = address
  anchor.textContent = address.replace(/^https?:\/\/|\/$/g, '')
}

/** "1 file", "1,204 files". @param {number} number @param {string} noun */
function count(number, noun) {
  return `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`
}

/** "940 bytes", "3.9 MB", "12 MB". @param {number} bytes */
function size(bytes) {
  const units = ['KB', 'MB', 'GB', 'TB']
  const power = Math.min(units.length, Math.floor(Math.log10(Math.max(1, bytes * 1.0005)) / 3))
  if (power === 0) return count(bytes, 'byte')
  const value = bytes / 1000 ** power
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${units[power - 1]}`
}

/** "23 h 5 min", "41 min 7 s", "3 days". @param {number} milliseconds */
function span(milliseconds) {
  const seconds = Math.ceil(milliseconds / 1000)
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  if (hours >= 48) return count(Math.floor(hours / 24), 'day')
  if (hours > 0) return `${hours} h ${minutes} min`
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`
}
