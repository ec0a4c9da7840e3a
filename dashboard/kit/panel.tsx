import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

interface PanelProps {
  title: string
  /** Its purpose, in a sentence. */
  lead?: ComponentChildren
  /** Whether it has what cannot be undone. */
  isDanger?: boolean
  /** Beside the title. */
  actions?: ComponentChildren
  children?: ComponentChildren
}

/** A section with a heading. */
export function Panel({ title, lead, isDanger = false, actions, children }: PanelProps) {
  const id = useId()
  return (
    <section class={`panel stack ${isDanger ? 'danger-zone' : ''}`} aria-labelledby={id}>
      <div class="panel-head">
        <h2 id={id}>{title}</h2>
        {actions}
      </div>
      {lead && <p class="quiet">{lead}</p>}
      {children}
    </section>
  )
}

/** Terms and values in a wrapping row. */
export function Facts({ children }: { children: ComponentChildren }) {
  return <dl class="facts">{children}</dl>
}

export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

/** An empty state with the first step. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty stack tight">
      <p class="title">{title}</p>
      {children}
    </div>
  )
}

export function Badge({
  tone,
  children,
}: {
  tone: 'plain' | 'good' | 'warn' | 'wrong'
  children: ComponentChildren
}) {
  return <span class={`badge ${tone}`}>{children}</span>
}

interface BarProps {
  label: string
  /** From 0 to 1. */
  share: number
  /** As text. */
  text?: string
}

/** A progress bar. */
export function Bar({ label, share, text }: BarProps) {
  const percent = Math.round(Math.min(1, Math.max(0, share)) * 100)
  return (
    <div
      class="bar"
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
      aria-valuetext={text}
    >
      <div style={{ width: `${percent}%` }} />
    </div>
  )
}
