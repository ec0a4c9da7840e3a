import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { DisplayError } from '../api/display-error.ts'
import { retries } from '../api/resource.ts'
import { settings } from '../api/settings.ts'
import { Button } from './button.tsx'
import { Icon, type IconName } from './icon.tsx'

export type Tone = 'plain' | 'good' | 'warn' | 'wrong'

interface NoticeProps {
  tone?: Tone
  title?: ComponentChildren
  children?: ComponentChildren
}

const SIGNS: Record<Tone, IconName> = { plain: 'clock', good: 'check', warn: 'warning', wrong: 'wrong' }

/** A notice in context; errors are announced immediately. */
export function Notice({ tone = 'plain', title, children }: NoticeProps) {
  return (
    <div class={`notice ${tone}`} role={tone === 'wrong' ? 'alert' : 'status'}>
      <Icon name={SIGNS[tone]} />
      <div class="stack tight">
        {title && <p class="title">{title}</p>}
        {children}
      </div>
    </div>
  )
}

/** Moves the focus from an element that will be removed to the part of the page around it, or to the whole page. */
export function focusAround(element = document.activeElement): void {
  const around = element?.parentElement?.closest<HTMLElement>('[tabindex]') ?? document.querySelector('main')
  around?.focus({ preventScroll: true })
}

/** Does so when this element, which has the focus, leaves the page. */
export function useFocusAround(element: { current: HTMLElement | null }): void {
  useLayoutEffect(() => {
    const own = element.current!
    return () => own.contains(document.activeElement) && focusAround(own)
  }, [])
}

/** Around a control that its own use may remove. */
export function FocusKept({ children }: { children: ComponentChildren }) {
  const box = useRef<HTMLSpanElement>(null)
  useFocusAround(box)
  return <span ref={box}>{children}</span>
}

interface ErrorNoticeProps {
  error: DisplayError | undefined
  /** Retries; offered from when it makes sense. */
  onRetry?: (() => unknown) | undefined
  children?: ComponentChildren
}

/** An error with its next step; nothing when there is none. */
export function ErrorNotice({ error, onRetry, children }: ErrorNoticeProps) {
  const waits = useIsBefore(error?.retryAt)
  if (!error) return null
  const retry = () => {
    focusAround()
    onRetry?.()
    retries.value++
  }
  return (
    <Notice tone={error.code === 'RATE_LIMITED' ? 'warn' : 'wrong'} title={error.title}>
      {error.hint && <p>{withContact(error.hint)}</p>}
      {children}
      {onRetry && !waits && (
        <p>
          <Button onClick={retry}>Try again</Button>
        </p>
      )}
    </Notice>
  )
}

/** With the address of the operator, which a page that refuses the sign-in cannot show elsewhere. */
function withContact(hint: string): string {
  const { contactEmail } = settings
  return contactEmail === ''
    ? hint
    : hint.replace(/contact the operator of the service/i, (text) => `${text}: ${contactEmail}`)
}

/** Whether that time is in the future. */
function useIsBefore(from: number | undefined): boolean {
  const [, redraw] = useState(0)
  const waits = from !== undefined && Date.now() < from
  useEffect(() => {
    if (!waits) return
    const timer = setTimeout(() => redraw((count) => count + 1), Math.min(from! - Date.now(), 2 ** 31 - 1))
    return () => clearTimeout(timer)
  }, [from, waits])
  return waits
}
