export const BYTES = 'Pass the body on as the bytes that came'
export const COMPARE = 'Save requests where they enter, as raw bytes: an editor or a log may have changed this one.'
