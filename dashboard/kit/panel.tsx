import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

interface PanelProps {
  title: string
  /** What it is for, in a sentence. */
  lead?: ComponentChildren
  /** Beside the title. */
  actions?: ComponentChildren
  children?: ComponentChildren
}

/** A part of a page with a heading of its own. */
export function Panel({ title, lead, actions, children }: PanelProps) {
  const id = useId()
  return (
    <section class="panel stack" aria-labelledby={id}>
      <div class="panel-head">
        <h2 id={id}>{title}</h2>
        {actions}
      </div>
      {lead && <p class="quiet">{lead}</p>}
      {children}
    </section>
  )
}

/** Names and what they stand for, in a row that wraps. */
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

/** What stands where there is nothing yet, and how to begin. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty stack tight">
      <p class="title">{title}</p>
      {children}
    </div>
  )
}

/** Stands where something will be in a moment. */
export function Loading({ what }: { what: string }) {
  return (
    <p class="loading" role="status">
      Loading {what}…
    </p>
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
  /** In words. */
  text?: string
}

/** How far something is. */
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
