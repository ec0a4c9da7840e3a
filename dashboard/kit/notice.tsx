import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Failing } from '../api/failing.ts'
import { Button } from './button.tsx'
import { Icon, type IconName } from './icon.tsx'

export type Tone = 'plain' | 'good' | 'warn' | 'wrong'

interface NoticeProps {
  tone?: Tone
  title?: ComponentChildren
  children?: ComponentChildren
}

const SIGNS: Record<Tone, IconName> = { plain: 'clock', good: 'check', warn: 'warning', wrong: 'wrong' }

/** Something worth knowing, where it belongs; what is wrong is read out at once. */
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

interface TroubleProps {
  failing: Failing | undefined
  /** Tries again; offered from when it makes sense. */
  onAgain?: (() => unknown) | undefined
  children?: ComponentChildren
}

/** What went wrong and the way on; nothing when nothing did. */
export function Trouble({ failing, onAgain, children }: TroubleProps) {
  const waits = useWaiting(failing?.from)
  if (!failing) return null
  return (
    <Notice tone={failing.code === 'RATE_LIMITED' ? 'warn' : 'wrong'} title={failing.title}>
      {failing.way && <p>{failing.way}</p>}
      {children}
      {onAgain && !waits && (
        <p>
          <Button onClick={onAgain}>Try again</Button>
        </p>
      )}
    </Notice>
  )
}

/** Whether that moment is still to come. */
function useWaiting(from: number | undefined): boolean {
  const [, look] = useState(0)
  const waits = from !== undefined && Date.now() < from
  useEffect(() => {
    if (!waits) return
    const timer = setTimeout(() => look((count) => count + 1), Math.min(from! - Date.now(), 2 ** 31 - 1))
    return () => clearTimeout(timer)
  }, [from, waits])
  return waits
}
