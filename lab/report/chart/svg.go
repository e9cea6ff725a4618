package chart

import "errors"

func (Bars) SVG() (string, error)  { return "", errors.New("not drawn yet") }
func (Lines) SVG() (string, error) { return "", errors.New("not drawn yet") }
