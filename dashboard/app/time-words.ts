import { count } from '../../client/words.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** "15:00", or "15:00 tomorrow": a moment near now, by this machine's clock and zone. */
export function clockTime(milliseconds: number): string {
  const date = new Date(milliseconds)
  const time = `${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}`
  return date.toDateString() === new Date().toDateString() ? time : `${time} tomorrow`
}

/** "just now", "5 minutes ago", "3 hours ago", "yesterday", "12 March 2026". */
export function ago(iso: string, now: number): string {
  const since = Math.max(0, now - Date.parse(iso))
  if (since < MINUTE) return 'just now'
  if (since < HOUR) return `${count(Math.floor(since / MINUTE), 'minute')} ago`
  if (since < DAY) return `${count(Math.floor(since / HOUR), 'hour')} ago`
  if (since < 2 * DAY) return 'yesterday'
  return since < 7 * DAY ? `${Math.floor(since / DAY)} days ago` : day(iso)
}

/** "12 March 2026", in this machine's zone. */
export function day(iso: string): string {
  return new Date(iso).toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric' })
}

/** "12 March 2026, 15:04", in this machine's zone. */
export function dayAndTime(iso: string): string {
  const date = new Date(iso)
  return `${day(iso)}, ${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}`
}

/** "12 March 2026, 15:04:05", in this machine's zone. */
export function moment(iso: string): string {
  return `${day(iso)}, ${new Date(iso).toLocaleTimeString('en-GB')}`
}

/** How long something still lasts: "3 days", "23 h 5 min", "41 min 7 s", "12 s". */
export function left(milliseconds: number): string {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1000))
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  if (hours >= 48) return count(Math.floor(hours / 24), 'day')
  if (hours > 0) return `${hours} h ${minutes} min`
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`
}

function twoDigits(number: number): string {
  return String(number).padStart(2, '0')
}
