// How the parts of Mantine look and behave here; colours stand in theme.css.
import { createTheme } from '@mantine/core';

const still = { lockScroll: false };

// Nothing may need a <style> element: the page's policy allows style sheets of our own alone.
export const theme = createTheme({
  primaryColor: 'indigo',
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    Modal: { defaultProps: { ...still, centered: true, overlayProps: { backgroundOpacity: 0.5 } } },
    Drawer: { defaultProps: still },
    Tooltip: { defaultProps: { withArrow: true, openDelay: 300 } },
    Switch: { defaultProps: { withThumbIndicator: false } },
  },
});
