import { useEffect, useState } from 'preact/hooks'
import { Button } from './button.tsx'
import { showToast } from './toast.tsx'

/** How long a button shows that it has copied, in milliseconds. */
const CONFIRMATION_MS = 2000

/** Copies a text. `of` names it for screen readers. */
export function CopyButton({
  text,
  of,
  variant = 'plain',
}: {
  text: string
  of: string
  variant?: 'plain' | 'main'
}) {
  const [copied, setCopied] = useState<boolean | undefined>(undefined)
  useEffect(() => {
    if (copied === undefined) return
    const timer = setTimeout(() => setCopied(undefined), CONFIRMATION_MS)
    return () => clearTimeout(timer)
  }, [copied])
  const copy = async () => setCopied(await copyText(text))
  return (
    <Button variant={variant} icon={copied ? 'check' : 'copy'} label={`Copy ${of}`} onClick={copy}>
      <span aria-live="polite">{copied === undefined ? 'Copy' : copied ? 'Copied' : 'Press Ctrl+C'}</span>
    </Button>
  )
}

/** A line to copy: an address, a record, a key. */
export function CopyLine({ text, of }: { text: string; of: string }) {
  return (
    <div class="copy-line">
      <code>{text}</code>
      <CopyButton text={text} of={of} />
    </div>
  )
}

/** Commands to copy. */
export function CopyBlock({ text, of }: { text: string; of: string }) {
  return (
    <div class="copy-block">
      <pre>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} of={of} />
    </div>
  )
}

/** Copies an address without a button of its own: a toast has the result. */
export async function copyAddress(url: string): Promise<void> {
  showToast((await copyText(url)) ? 'URL copied.' : url)
}

/** Whether it is in the clipboard; without HTTPS browsers support only the old API. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copyBySelection(text)
  }
}

function copyBySelection(text: string): boolean {
  const before = document.activeElement
  const area = document.createElement('textarea')
  area.value = text
  area.className = 'unseen'
  document.body.append(area)
  area.select()
  const copied = document.execCommand('copy')
  area.remove()
  if (before instanceof HTMLElement) before.focus()
  return copied
}
