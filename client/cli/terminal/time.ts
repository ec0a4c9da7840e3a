const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/**
 * A time in the time zone of this machine: "23 Nov, 01:02", with the year unless it is that of `now`. Without `Intl`,
 * whose loading takes longer than some publishes.
 */
export function formatLocalTime(iso: string, now: number): string {
  const time = new Date(iso)
  const [hours, minutes] = [time.getHours(), time.getMinutes()].map((part) => String(part).padStart(2, '0'))
  return `${formatLocalDate(iso, now)}, ${hours}:${minutes}`
}

/** "23 Nov", with the year unless it is that of `now`. */
export function formatLocalDate(iso: string, now: number): string {
  const time = new Date(iso)
  const year = time.getFullYear() === new Date(now).getFullYear() ? '' : ` ${time.getFullYear()}`
  return `${time.getDate()} ${MONTHS[time.getMonth()]}${year}`
}
