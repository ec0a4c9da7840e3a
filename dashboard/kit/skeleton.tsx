interface LoadingProps {
  /** What is loaded, for screen readers: "your sites". */
  what: string
  /** The shape of the content: lines of text, rows with a picture, or one large picture. Default `lines`. */
  shape?: 'lines' | 'rows' | 'picture'
  /** Number of lines or rows. */
  count?: number
}

/** A placeholder in the shape of content that is loading. */
export function Loading({ what, shape = 'lines', count = 3 }: LoadingProps) {
  const rows = Array.from({ length: shape === 'picture' ? 1 : count }, (_, index) => index)
  return (
    <div role="status">
      <span class="visually-hidden">Loading {what}…</span>
      <div class="skeleton" aria-hidden="true">
        {rows.map((row) => (
          <Placeholder key={row} shape={shape} />
        ))}
      </div>
    </div>
  )
}

function Placeholder({ shape }: Required<Pick<LoadingProps, 'shape'>>) {
  if (shape === 'picture') return <div class="skeleton-block frame" />
  return (
    <div class={`skeleton-row ${shape === 'rows' ? 'picture' : ''}`}>
      {shape === 'rows' && <div class="skeleton-block" />}
      <div class="skeleton-block" />
      <div class="skeleton-block half" />
    </div>
  )
}
